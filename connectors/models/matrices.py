"""Matrices out of model files, as numbers."""

import numpy as np
from numpy.typing import NDArray

from connectors.gguf.file import Tensor, rows_of
from operators.models.adapter import Matrix
from operators.models.quantize import dequantize


def matrix_of(tensor: Tensor, rows: NDArray[np.int32] | slice = slice(None)) -> Matrix | None:
    """Some rows of a tensor, all by default; None if it is no matrix or of a type that is not known."""
    if len(tensor.shape) != 2:
        return None
    try:
        return dequantize(rows_of(tensor)[rows], tensor.kind)
    except (ValueError, NotImplementedError):
        # A type that the reader of files does not know, and one that gguf cannot turn into numbers.
        return None
