"""Reads the header of a GGUF file, and verifies that the file is complete.

llama.cpp maps a model into memory and trusts its header. A truncated download or a file of another kind is
detected here, before native code sees it. The layout follows the GGUF specification in ggml's
``docs/gguf.md``. The ``gguf`` package reads it too, but makes an object of each token: 11 s and 690 MB for
262,144 of them, where this takes 0.1 s and 6 MB, and it does not expect a hostile file.
"""

import struct
from math import prod
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from operators.errors import InputError, missing, unreadable

Bytes = NDArray[np.uint8]

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
#: Vocabulary and merges of the largest models take about 20 MB, and such models have thousands of tensors.
#: These limits bound the time that a hostile header can cost; memory is never allocated by its claims.
_MAX_HEADER_BYTES = 64 * 2**20
_MAX_ENTRIES = 100_000
_MAX_DIMENSIONS = 4
#: Positions of tensors are multiples of this, unless the file has an entry that names another number.
ALIGNMENT, ALIGNMENT_KEY = 32, "general.alignment"

_U32, _U64 = struct.Struct("<I"), struct.Struct("<Q")

#: GGUF's numbers of the types of values.
UINT32, FLOAT32, BOOL, STRING, ARRAY = 4, 6, 7, 8, 9
#: The `struct` format of a value, by the number of its type.
FORMATS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}


class Place(NamedTuple):
    """A value of the header: its type, and where it is in the file."""

    kind: int
    begin: int
    end: int


class TensorInfo(NamedTuple):
    """What the header says of a tensor."""

    name: str
    #: ggml's number of its type.
    kind: int
    #: Elements along each axis, starting with the one that is contiguous in memory.
    shape: tuple[int, ...]
    #: Where its bytes begin, relative to the first tensor's.
    offset: int
    #: Number of its bytes; None if this llama.cpp does not know the type: then only its start is checked.
    size: int | None


class Header(NamedTuple):
    """The header of a file."""

    entries: dict[str, Place]
    tensors: list[TensorInfo]
    #: Where the tensors begin.
    data_start: int


class _DamageError(Exception):
    """The header contradicts itself or the file; the message says how."""


class _Cursor:
    """A position in the mapped file that cannot move beyond its end."""

    def __init__(self, data: memoryview) -> None:
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
        return self.u32_at(self.skip(4))

    def u64(self) -> int:
        """Read an unsigned 64-bit number."""
        value: int = _U64.unpack_from(self._data, self.skip(8))[0]
        return value

    def u32_at(self, position: int) -> int:
        """The unsigned 32-bit number at a position that was passed."""
        value: int = _U32.unpack_from(self._data, position)[0]
        return value

    def text(self) -> str:
        """Read a string."""
        start = self.skip(self.u64())
        return bytes(self._data[start : self.position]).decode("utf-8", "replace")

    def value(self) -> Place:
        """Skip a value and the number of its type before it."""
        kind, begin = self.u32(), self.position
        if kind == STRING:
            self.skip(self.u64())
        elif kind == ARRAY:
            element, count = self.u32(), self.u64()
            if element == STRING:
                for _ in range(count):
                    self.skip(self.u64())
            else:
                self.skip(count * _value_bytes(element))
        else:
            self.skip(_value_bytes(kind))
        return Place(kind, begin, self.position)

    def tensor(self) -> TensorInfo:
        """Read what is said of a tensor."""
        from operators.models.quantize import block_of  # it loads llama.cpp

        name, dimensions = self.text(), self.u32()
        if dimensions > _MAX_DIMENSIONS:
            raise _DamageError(f"its header holds a tensor of {dimensions} dimensions")
        shape = tuple(self.u64() for _ in range(dimensions))
        kind, offset = self.u32(), self.u64()
        block, block_bytes = block_of(kind)
        # Python's integers: a hostile shape does not overflow.
        size = prod(shape) // block * block_bytes if block else None
        return TensorInfo(name, kind, shape, offset, size)


def check_gguf(path: Path) -> None:
    """Check that the file is a GGUF model as long as its header says.

    Reads the header only: about 0.1 s for a vocabulary of 262,144 words.

    Raises:
        InputError: the file is missing, unreadable, not a GGUF file, damaged or truncated.
    """
    map_checked(path)


def map_checked(path: Path) -> tuple[Bytes, Header]:
    """The file, mapped, and its header, after the checks of `check_gguf`."""
    try:
        if not path.is_file():
            raise InputError(_not_a_file(path))
        with path.open("rb") as file:
            if (magic := file.read(len(_MAGIC))) != _MAGIC:
                raise InputError(
                    f"{path} is not a GGUF model, it begins with {magic!r}: "
                    "name a .gguf file, or convert the model with llama.cpp"
                )
            mapped: Bytes = np.memmap(file, np.uint8, "r")
        header = _header(_Cursor(mapped.data))
    except _DamageError as damage:
        raise InputError(f"{path} is damaged, {damage}: fetch the model again") from None
    except OSError as error:
        raise InputError(unreadable(path, error)) from error
    end = header.data_start + max((info.offset + (info.size or 0) for info in header.tensors), default=0)
    if len(mapped) < end:
        raise InputError(
            f"{path} is truncated, it has {len(mapped)} of at least {end} bytes: fetch the model again"
        )
    return mapped, header


def _not_a_file(path: Path) -> str:
    if path.is_dir():
        return f"{path} is a folder: name the .gguf file in it"
    if path.exists():
        return f"{path} is not a regular file: name a .gguf file"
    if path.suffix == ".gguf":
        return f"there is no model file {path}: {missing(path)}"
    return f"there is no model file {path}: name a .gguf file, or 'default' for surtitle's own model"


def _header(cursor: _Cursor) -> Header:
    cursor.skip(len(_MAGIC))
    version = cursor.u32()
    if version not in _VERSIONS:
        # This includes big-endian files: their version reads as a very large number.
        raise _DamageError(f"or of a GGUF version that llama.cpp does not read here ({version})")
    tensors, count = cursor.u64(), cursor.u64()
    if max(tensors, count) > _MAX_ENTRIES:
        raise _DamageError(f"its header announces {tensors} tensors and {count} entries")
    entries = {cursor.text(): cursor.value() for _ in range(count)}
    infos = [cursor.tensor() for _ in range(tensors)]
    alignment, named = ALIGNMENT, entries.get(ALIGNMENT_KEY)
    if named is not None and named.kind == UINT32:
        alignment = cursor.u32_at(named.begin)
    if alignment < 1 or alignment & (alignment - 1):
        raise _DamageError(f"its alignment {alignment} is not a power of two")
    return Header(entries, infos, padded(cursor.position, alignment))


def padded(size: int, alignment: int = ALIGNMENT) -> int:
    """The next multiple of the alignment."""
    return -(-size // alignment) * alignment


def _value_bytes(kind: int) -> int:
    if kind not in FORMATS:
        raise _DamageError(f"its header holds a value of the unknown type {kind}")
    return struct.calcsize("<" + FORMATS[kind])
