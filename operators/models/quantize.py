"""Conversion of matrices and files to and from ggml's types, by ggml itself.

The ``gguf`` package reads most types in NumPy, 25 times slower. It does not write K-quants.
"""

import ctypes
import os
from functools import cache
from pathlib import Path
from typing import Any

import llama_cpp as llama
import numpy as np
from llama_cpp import GGML_TYPE_COUNT, _ggml
from numpy.typing import NDArray

from operators.errors import InputError

Matrix = NDArray[np.float32]
Bytes = NDArray[np.uint8]

F32, F16, Q8_0 = 0, 1, 8


class _Traits(ctypes.Structure):
    """Properties of a type: ``ggml_type_traits`` of ggml.h."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("block", ctypes.c_int64),
        ("block_interleave", ctypes.c_int64),
        ("block_bytes", ctypes.c_size_t),
        ("is_quantized", ctypes.c_bool),
        ("to_float", ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)),
        ("from_float", ctypes.c_void_p),
    )


_traits = _ggml.libggml.ggml_get_type_traits
_traits.restype = ctypes.POINTER(_Traits)
_quantize = _ggml.libggml.ggml_quantize_chunk
_quantize.restype = ctypes.c_size_t
_quantize.argtypes = [ctypes.c_int, *[ctypes.c_void_p] * 2, *[ctypes.c_int64] * 3, ctypes.c_void_p]


@cache
def _traits_of(kind: int) -> Any:
    """The properties of a type; None if this llama.cpp does not support it."""
    traits = _traits(kind).contents if kind < GGML_TYPE_COUNT else None
    return traits if traits and traits.block else None


def block_of(kind: int) -> tuple[int, int]:
    """Elements and bytes of a block of ggml's type ``kind``; (0, 0) if llama.cpp does not support it."""
    traits = _traits_of(kind)
    return (traits.block, traits.block_bytes) if traits else (0, 0)


def stored_type(columns: int) -> int:
    """The type in which surtitle stores weights: Q8_0, or F16 if the blocks of Q8_0 do not fill the rows."""
    return F16 if columns % block_of(Q8_0)[0] else Q8_0


def dequantize(rows: Bytes, kind: int) -> Matrix:
    """The values of a matrix; ``rows`` are its bytes, ``kind`` is ggml's number of their type.

    Raises `ValueError` for a type that ggml cannot convert to numbers.
    """
    rows = np.ascontiguousarray(rows)
    if kind == F32:
        return rows.view(np.float32)
    traits = _traits_of(kind)
    if not traits or not traits.to_float:
        raise ValueError(f"tensors of type {kind}")
    count, row_bytes = rows.shape
    matrix = np.empty((count, row_bytes // traits.block_bytes * traits.block), np.float32)
    traits.to_float(rows.ctypes.data, matrix.ctypes.data, matrix.size)
    return matrix


def quantize(matrix: Matrix, kind: int) -> Bytes:
    """The bytes of a matrix in ggml's type ``kind``, one-dimensional. Its blocks must fill the rows."""
    matrix = np.ascontiguousarray(matrix, np.float32)
    rows, columns = matrix.shape
    block, block_bytes = block_of(kind)
    out = np.empty(rows * columns // block * block_bytes, np.uint8)
    written = _quantize(kind, matrix.ctypes.data, out.ctypes.data, 0, rows, columns, None)
    assert written == len(out)
    return out


#: llama.cpp's mixtures of types by their names, such as ``q4_k_m``.
MIXTURES = {
    name.removeprefix("LLAMA_FTYPE_MOSTLY_").lower(): int(getattr(llama, name))
    for name in dir(llama)
    if name.startswith("LLAMA_FTYPE_MOSTLY_")
}


def quantize_file(source: Path, target: Path, mixture: str) -> None:
    """Write a GGUF file in one of `MIXTURES`, as ``llama-quantize`` does without an importance matrix.

    Raises `InputError` if llama.cpp cannot write it.
    """
    params = llama.llama_model_quantize_default_params()
    params.ftype = MIXTURES[mixture]
    if llama.llama_model_quantize(os.fsencode(source), os.fsencode(target), ctypes.byref(params)) != 0:
        raise InputError(f"{source}: llama.cpp cannot write it in {mixture}; choose another one")
