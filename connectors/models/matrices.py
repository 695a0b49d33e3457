"""Converts matrices in model files to numbers."""

import numpy as np
from numpy.typing import NDArray

from connectors.gguf.file import Tensor, rows_of
from operators.models.adapter import Matrix
from operators.models.quantize import dequantize


def matrix_of(tensor: Tensor, rows: NDArray[np.int32] | slice = slice(None)) -> Matrix | None:
    """Some rows of a tensor, all by default; None if it is not a matrix or has an unknown type."""
    if len(tensor.shape) != 2:
        return None
    try:
        return dequantize(rows_of(tensor)[rows], tensor.kind)
    except (ValueError, NotImplementedError):
        # A type unknown to our file reader, or one that gguf cannot convert to numbers.
        return None
