"""Reads just enough of a GGUF file to verify that it is complete.

llama.cpp maps a model into memory and trusts its header. A truncated download or a file of another kind is
detected here, before native code sees it. The layout follows the GGUF specification in ggml's
``docs/gguf.md``.
"""

import mmap
import struct
from contextlib import closing
from pathlib import Path

from operators.errors import InputError, missing, unreadable

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
#: Vocabulary and merges of the largest models take about 20 MB, and such models have thousands of tensors.
#: These limits bound the time that a hostile header can cost; memory is never allocated by its claims.
_MAX_HEADER_BYTES = 64 * 2**20
_MAX_ENTRIES = 100_000
_MAX_DIMENSIONS = 4
_DEFAULT_ALIGNMENT = 32

_U32 = struct.Struct("<I")
_U64 = struct.Struct("<Q")

_STRING, _ARRAY = 8, 9
#: Bytes of a metadata value by its type (uint8 … float32 and bool, then uint64 … float64).
_VALUE_BYTES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}

#: Elements and bytes per block, by ggml's tensor type. A type missing here (new ones are added over time)
#: counts as empty: then only the start of such a tensor is checked.
TENSOR_BLOCKS = {
    0: (1, 4),  # F32
    1: (1, 2),  # F16
    2: (32, 18),  # Q4_0
    3: (32, 20),  # Q4_1
    6: (32, 22),  # Q5_0
    7: (32, 24),  # Q5_1
    8: (32, 34),  # Q8_0
    9: (32, 36),  # Q8_1
    10: (256, 84),  # Q2_K
    11: (256, 110),  # Q3_K
    12: (256, 144),  # Q4_K
    13: (256, 176),  # Q5_K
    14: (256, 210),  # Q6_K
    15: (256, 292),  # Q8_K
    16: (256, 66),  # IQ2_XXS
    17: (256, 74),  # IQ2_XS
    18: (256, 98),  # IQ3_XXS
    19: (256, 50),  # IQ1_S
    20: (32, 18),  # IQ4_NL
    21: (256, 110),  # IQ3_S
    22: (256, 82),  # IQ2_S
    23: (256, 136),  # IQ4_XS
    24: (1, 1),  # I8
    25: (1, 2),  # I16
    26: (1, 4),  # I32
    27: (1, 8),  # I64
    28: (1, 8),  # F64
    29: (256, 56),  # IQ1_M
    30: (1, 2),  # BF16
    34: (256, 54),  # TQ1_0
    35: (256, 66),  # TQ2_0
    39: (32, 17),  # MXFP4
}


class _DamageError(Exception):
    """The header contradicts itself or the file; the message says how."""


class _Cursor:
    """A position in the mapped file that cannot move beyond its end."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        self._end = min(len(data), _MAX_HEADER_BYTES)
        self.position = 0

    def skip(self, count: int) -> int:
        """Move forward by ``count`` bytes, and return the previous position."""
        start = self.position
        if count > self._end - start:
            raise _DamageError(f"its header does not end within the first {self._end} bytes")
        self.position = start + count
        return start

    def u32(self) -> int:
        """Read an unsigned 32-bit number."""
        value: int = _U32.unpack_from(self._data, self.skip(4))[0]
        return value

    def u64(self) -> int:
        """Read an unsigned 64-bit number."""
        value: int = _U64.unpack_from(self._data, self.skip(8))[0]
        return value

    def skip_string(self) -> None:
        """Skip a string."""
        self.skip(self.u64())

    def is_string(self, expected: bytes) -> bool:
        """Skip a string, and return whether it is the expected one."""
        length = self.u64()
        start = self.skip(length)
        return length == len(expected) and self._data[start : start + length] == expected


def check_gguf(path: Path) -> None:
    """Check that the file is a GGUF model as long as its header says.

    Reads the header only: about 0.1 s for a vocabulary of 262,144 words.

    Raises:
        InputError: the file is missing, unreadable, not a GGUF file, damaged or truncated.
    """
    try:
        if not path.is_file():
            raise InputError(_not_a_file(path))
        with path.open("rb") as file:
            if (magic := file.read(len(_MAGIC))) != _MAGIC:
                raise InputError(
                    f"{path} is not a GGUF model, it begins with {magic!r}: "
                    "name a .gguf file, or convert the model with llama.cpp"
                )
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            with closing(mapped) as data:
                end, size = _end_of_tensors(_Cursor(data)), len(data)
    except _DamageError as damage:
        raise InputError(f"{path} is damaged, {damage}: fetch the model again") from None
    except OSError as error:
        raise InputError(unreadable(path, error)) from error
    if size < end:
        raise InputError(f"{path} is truncated, it has {size} of at least {end} bytes: fetch the model again")


def _not_a_file(path: Path) -> str:
    if path.is_dir():
        return f"{path} is a folder: name the .gguf file in it"
    if path.exists():
        return f"{path} is not a regular file: name a .gguf file"
    if path.suffix == ".gguf":
        return f"there is no model file {path}: {missing(path)}"
    return f"there is no model file {path}: name a .gguf file, or 'default' for surtitle's own model"


def _end_of_tensors(cursor: _Cursor) -> int:
    """Read through the header; return the end position of the last tensor's data."""
    cursor.skip(len(_MAGIC))
    version = cursor.u32()
    if version not in _VERSIONS:
        # This includes big-endian files: their version reads as a very large number.
        raise _DamageError(f"or of a GGUF version that llama.cpp does not read here ({version})")
    tensors, entries = cursor.u64(), cursor.u64()
    if max(tensors, entries) > _MAX_ENTRIES:
        raise _DamageError(f"its header announces {tensors} tensors and {entries} entries")
    alignment = _DEFAULT_ALIGNMENT
    for _ in range(entries):
        is_alignment = cursor.is_string(b"general.alignment")
        value_type = cursor.u32()
        if is_alignment and value_type == 4:
            alignment = cursor.u32()
        else:
            _skip_value(cursor, value_type)
    if alignment < 1 or alignment & (alignment - 1):
        raise _DamageError(f"its alignment {alignment} is not a power of two")
    end = max((_skip_tensor_info(cursor) for _ in range(tensors)), default=0)
    data_start = -(-cursor.position // alignment) * alignment
    return data_start + end


def _skip_value(cursor: _Cursor, value_type: int) -> None:
    if value_type == _STRING:
        cursor.skip_string()
    elif value_type == _ARRAY:
        element_type, count = cursor.u32(), cursor.u64()
        if element_type == _STRING:
            for _ in range(count):
                cursor.skip_string()
        else:
            cursor.skip(count * _value_bytes(element_type))
    else:
        cursor.skip(_value_bytes(value_type))


def _value_bytes(value_type: int) -> int:
    try:
        return _VALUE_BYTES[value_type]
    except KeyError:
        raise _DamageError(f"its header holds a value of the unknown type {value_type}") from None


def _skip_tensor_info(cursor: _Cursor) -> int:
    """Skip the header's entry for one tensor; return where its data ends, relative to the data's start."""
    cursor.skip_string()
    dimensions = cursor.u32()
    if dimensions > _MAX_DIMENSIONS:
        raise _DamageError(f"its header holds a tensor of {dimensions} dimensions")
    elements = 1
    for _ in range(dimensions):
        elements *= cursor.u64()
    block, block_bytes = TENSOR_BLOCKS.get(cursor.u32(), (1, 0))
    offset = cursor.u64()
    return offset + elements // block * block_bytes
