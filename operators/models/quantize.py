"""Converts matrices to and from ggml's types: reads with the ``gguf`` package, writes with ggml itself.

``gguf`` cannot write K-quants, and ggml comes with llama.cpp.
"""

import ctypes

import numpy as np
from llama_cpp import GGML_TYPE_COUNT, _ggml
from numpy.typing import NDArray

from operators.models.adapter import Matrix

Bytes = NDArray[np.uint8]

_quantize = _ggml.libggml.ggml_quantize_chunk
_quantize.restype = ctypes.c_size_t
_quantize.argtypes = [ctypes.c_int, *[ctypes.c_void_p] * 2, *[ctypes.c_int64] * 3, ctypes.c_void_p]
_row_size = _ggml.libggml.ggml_row_size
_row_size.restype = ctypes.c_size_t
_row_size.argtypes = [ctypes.c_int, ctypes.c_int64]
_block = _ggml.libggml.ggml_blck_size
_block.restype = ctypes.c_int64
_block_bytes = _ggml.libggml.ggml_type_size
_block_bytes.restype = ctypes.c_size_t


def block_of(kind: int) -> tuple[int, int]:
    """Elements and bytes of a block of ggml's type ``kind``; (0, 0) if this llama.cpp does not know it."""
    return (_block(kind), _block_bytes(kind)) if kind < GGML_TYPE_COUNT else (0, 0)


def dequantize(rows: Bytes, kind: int) -> Matrix:
    """The values of a matrix; ``rows`` are its bytes, ``kind`` is ggml's number of their type.

    Raises `NotImplementedError` for a type that ``gguf`` cannot read.
    """
    from gguf import GGMLQuantizationType
    from gguf.quants import dequantize as read

    try:
        return np.ascontiguousarray(read(rows, GGMLQuantizationType(kind)), np.float32)
    except ValueError as error:
        raise NotImplementedError(str(error)) from error


def quantize(matrix: Matrix, kind: int) -> Bytes:
    """The bytes of a matrix in ggml's type ``kind``, one-dimensional. Its blocks must fill the rows."""
    matrix = np.ascontiguousarray(matrix, np.float32)
    rows, columns = matrix.shape
    out = np.empty(rows * _row_size(kind, columns), np.uint8)
    written = _quantize(kind, matrix.ctypes.data, out.ctypes.data, 0, rows, columns, None)
    assert written == len(out)
    return out
