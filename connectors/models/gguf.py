"""Reads and writes GGUF files, the format of llama.cpp; only requested entries and tensors are interpreted.

All others are copied as bytes, whatever type a newer llama.cpp gave them. llama.cpp maps a model into memory
and trusts its header: a truncated download or a file of another kind is detected here. The layout follows the
specification in ggml's ``docs/gguf.md``. The ``gguf`` package makes an object for each token: it takes 11 s
and 690 MB for 262,144 tokens, and this module 0.1 s and 6 MB.
"""

import os
import struct
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from connectors.files.atomic import atomic_file
from operators.errors import InputError, missing, unreadable
from operators.models.quantize import Matrix, block_of, dequantize

Bytes = NDArray[np.uint8]
Value = str | int | float | bool | list[str] | NDArray[np.generic]

_MAGIC = b"GGUF"
#: Vocabulary and merges of the largest models take about 20 MB. The limits bound the time that a hostile
#: header can cost.
_MAX_HEADER_BYTES = 64 * 2**20
_MAX_ENTRIES = 100_000
_MAX_DIMENSIONS = 4
#: Positions of tensors are multiples of this, unless the file has an entry that names another number.
_ALIGNMENT, _ALIGNMENT_KEY = 32, "general.alignment"
_COPY_BYTES = 4 * 2**20

#: GGUF's numbers of the types of values.
_UINT32, _FLOAT32, _BOOL, _STRING, _ARRAY = 4, 6, 7, 8, 9
#: The `struct` format of a value, by the number of its type.
_FORMATS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}


class Entry(NamedTuple):
    #: GGUF's type number.
    kind: int
    #: The value itself, without the preceding type.
    data: bytes


class Tensor(NamedTuple):
    #: ggml's number of its type.
    kind: int
    #: Elements along each axis, starting with the one that is contiguous in memory.
    shape: tuple[int, ...]
    #: Its bytes, one-dimensional; mapped from the file, not copied.
    data: Bytes


class GgufFile(NamedTuple):
    """A GGUF file: its entries and its tensors, in file order."""

    entries: dict[str, Entry]
    tensors: dict[str, Tensor]

    def value(self, key: str) -> Value | None:
        entry = self.entries.get(key)
        return None if entry is None else decode(entry)

    def text(self, key: str) -> str:
        """The value of a string entry; empty if there is none."""
        value = self.value(key)
        return value if isinstance(value, str) else ""


def decode(entry: Entry) -> Value:
    if entry.kind == _STRING:
        return entry.data[8:].decode("utf-8", "replace")
    if entry.kind != _ARRAY:
        value: Value = struct.unpack("<" + _FORMATS[entry.kind], entry.data)[0]
        return value
    kind, count = struct.unpack_from("<IQ", entry.data)
    if kind in _FORMATS:
        return np.frombuffer(entry.data, np.dtype("<" + _FORMATS[kind]), count, 12)
    return [text.decode("utf-8", "replace") for text in _strings(entry.data, count)]


def encode(value: Value, kind: int | None = None) -> Entry:
    """An entry for a value; an integer becomes an unsigned 32-bit number unless ``kind`` says otherwise."""
    if isinstance(value, str):
        return Entry(_STRING, _packed(value))
    if isinstance(value, list):
        return Entry(_ARRAY, struct.pack("<IQ", _STRING, len(value)) + b"".join(map(_packed, value)))
    if isinstance(value, np.ndarray):
        kinds = {np.dtype("<" + name): number for number, name in _FORMATS.items()}
        return Entry(_ARRAY, struct.pack("<IQ", kinds[value.dtype], value.size) + value.tobytes())
    if kind is None:
        kind = _BOOL if isinstance(value, bool) else _UINT32 if isinstance(value, int) else _FLOAT32
    return Entry(kind, struct.pack("<" + _FORMATS[kind], value))


def select(entry: Entry, places: NDArray[np.intp]) -> Entry:
    """An array entry with only the elements at ``places``, in that order."""
    value = decode(entry)
    if isinstance(value, np.ndarray):
        return encode(value[places])
    kind, count = struct.unpack_from("<IQ", entry.data)
    texts = _strings(entry.data, count)  # bytes, because a vocabulary may contain invalid UTF-8
    body = b"".join(struct.pack("<Q", len(texts[place])) + texts[place] for place in places)
    return Entry(_ARRAY, struct.pack("<IQ", kind, len(places)) + body)


def count_of(entry: Entry | None) -> int:
    """The number of elements of an array; 0 for anything else."""
    is_array = entry is not None and entry.kind == _ARRAY
    return int(struct.unpack_from("<IQ", entry.data)[1]) if entry and is_array else 0


def _packed(text: str) -> bytes:
    data = text.encode("utf-8")
    return struct.pack("<Q", len(data)) + data


def _strings(data: bytes, count: int) -> list[bytes]:
    texts, position, unpack = [], 12, struct.Struct("<Q").unpack_from
    for _ in range(count):
        start = position + 8
        position = start + unpack(data, position)[0]
        texts.append(data[start:position])
    return texts


class _Header:
    """The header of a mapped file, read from front to back; all methods raise `ValueError` beyond its end."""

    def __init__(self, data: memoryview) -> None:
        self._data = data[:_MAX_HEADER_BYTES]
        self.position = len(_MAGIC)

    def _take(self, count: int) -> memoryview:
        start, self.position = self.position, self.position + count
        if self.position > len(self._data):
            raise ValueError(f"its header does not end within the first {len(self._data)} bytes")
        return self._data[start : self.position]

    def number(self, form: str) -> int:
        value: int = struct.unpack(form, self._take(struct.calcsize(form)))[0]
        return value

    def text(self) -> str:
        return bytes(self._take(self.number("<Q"))).decode("utf-8", "replace")

    def entry(self) -> Entry:
        kind, begin = self.number("<I"), self.position
        if kind == _ARRAY:
            element, count = self.number("<I"), self.number("<Q")
            if element != _STRING:
                self._take(count * _size_of(element))
            for _ in range(count if element == _STRING else 0):
                self._take(self.number("<Q"))
        else:
            self._take(self.number("<Q") if kind == _STRING else _size_of(kind))
        return Entry(kind, bytes(self._data[begin : self.position]))

    def tensor(self) -> tuple[str, int, tuple[int, ...], int]:
        """Name, type, shape and offset of a tensor."""
        name, dimensions = self.text(), self.number("<I")
        if dimensions > _MAX_DIMENSIONS:
            raise ValueError(f"its header holds a tensor of {dimensions} dimensions")
        shape = tuple(self.number("<Q") for _ in range(dimensions))
        return name, self.number("<I"), shape, self.number("<Q")


def _size_of(kind: int) -> int:
    if kind not in _FORMATS:
        raise ValueError(f"its header holds a value of the unknown type {kind}")
    return struct.calcsize("<" + _FORMATS[kind])


def read_gguf(path: Path) -> GgufFile:
    """Read the header, check that the file has the length that it implies, and map the tensors.

    Raises:
        InputError: the file is missing, unreadable, not a GGUF file, damaged or truncated.
    """
    try:
        if not path.is_file():
            what = f"there is no model file {path}"
            remedy = missing(path) if path.suffix == ".gguf" else "name a .gguf file, or 'default'"
            raise InputError(f"{what}: {remedy}")
        with path.open("rb") as file:
            if (magic := file.read(len(_MAGIC))) != _MAGIC:
                raise InputError(
                    f"{path} is not a GGUF model, it begins with {magic!r}: "
                    "name a .gguf file, or convert the model with llama.cpp"
                )
            return _read(np.memmap(file, np.uint8, "r"))
    except ValueError as error:
        raise InputError(f"{path} is damaged or truncated, {error}: fetch the model again") from None
    except OSError as error:
        raise InputError(unreadable(path, error)) from error


def _read(mapped: Bytes) -> GgufFile:
    """Raises `ValueError` if the header contradicts itself or the file."""
    header = _Header(mapped.data)
    version = header.number("<I")
    if version not in (2, 3):
        # This includes big-endian files: their version reads as a very large number.
        raise ValueError(f"or of a GGUF version that llama.cpp does not read here ({version})")
    tensors, count = header.number("<Q"), header.number("<Q")
    if max(tensors, count) > _MAX_ENTRIES:
        raise ValueError(f"its header announces {tensors} tensors and {count} entries")
    entries = {header.text(): header.entry() for _ in range(count)}
    infos = [header.tensor() for _ in range(tensors)]
    alignment = _ALIGNMENT
    if (named := entries.get(_ALIGNMENT_KEY)) is not None and named.kind == _UINT32:
        (alignment,) = struct.unpack("<I", named.data)
    if alignment < 1 or alignment & (alignment - 1):
        raise ValueError(f"its alignment {alignment} is not a power of two")
    start = _padded(header.position, alignment)
    # Where the type is not known, a tensor ends where the next one begins.
    following = dict(pairwise(sorted({*(offset for *_, offset in infos), max(0, len(mapped) - start)})))
    found, least = {}, start
    for name, kind, shape, offset in infos:
        block, block_bytes = block_of(kind)
        # Python's integers: a hostile shape does not overflow.
        end = offset + prod(shape) // block * block_bytes if block else following.get(offset, offset)
        least = max(least, start + end)
        found[name] = Tensor(kind, shape, mapped[start + offset : start + end])
    if len(mapped) < least:
        raise ValueError(f"it has {len(mapped)} of at least {least} bytes")
    return GgufFile(entries, found)


def _padded(size: int, alignment: int = _ALIGNMENT) -> int:
    return -(-size // alignment) * alignment


def write_gguf(
    path: Path,
    entries: Mapping[str, Entry],
    tensors: Mapping[str, Tensor],
    progress: Callable[[float], None] = lambda _done: None,
) -> None:
    """Write a GGUF file of version 3; the old file stays until it is complete.

    ``progress`` gets the fraction done. Raises `OutputError` if it cannot be written.
    """
    kept = {key: entry for key, entry in entries.items() if key != _ALIGNMENT_KEY}
    infos, place = [], 0
    for name, tensor in tensors.items():
        dimensions = struct.pack(f"<I{len(tensor.shape)}Q", len(tensor.shape), *tensor.shape)
        infos.append(_packed(name) + dimensions + struct.pack("<IQ", tensor.kind, place))
        place += _padded(len(tensor.data))
    header = b"".join((
        _MAGIC,
        struct.pack("<IQQ", 3, len(tensors), len(kept)),
        *(_packed(key) + struct.pack("<I", entry.kind) + entry.data for key, entry in kept.items()),
        *infos,
    ))  # fmt: skip
    done = 0
    with atomic_file(path) as file:
        file.write(header.ljust(_padded(len(header)), b"\0"))
        for tensor in tensors.values():
            for begin in range(0, len(tensor.data), _COPY_BYTES):
                part = tensor.data[begin : begin + _COPY_BYTES]
                file.write(np.ascontiguousarray(part).data)
                done += len(part)
                progress(done / place)
            file.write(bytes(_padded(len(tensor.data)) - len(tensor.data)))
        # Otherwise, a power failure may leave a file of this length without its contents.
        file.flush()
        os.fsync(file.fileno())


def rows_of(tensor: Tensor) -> Bytes:
    """The bytes of a tensor as a matrix, one row for each row of its first axis.

    Raises `ValueError` for an unknown type, and if the blocks do not fill the rows.
    """
    block, block_bytes = block_of(tensor.kind)
    if not block or not tensor.shape or not tensor.shape[0] or tensor.shape[0] % block:
        raise ValueError(f"a tensor of type {tensor.kind} and shape {tensor.shape}")
    return tensor.data.reshape(-1, tensor.shape[0] // block * block_bytes)


def matrix_of(file: GgufFile, name: str, path: Path, rows: NDArray[np.int32] | slice = slice(None)) -> Matrix:
    """Some rows of a tensor, all by default. Raises `InputError` if it is not a matrix of a known type."""
    tensor = file.tensors.get(name)
    with suppress(ValueError):  # a type that this llama.cpp does not support, or cannot convert to numbers
        if tensor is not None and len(tensor.shape) == 2:
            return dequantize(rows_of(tensor)[rows], tensor.kind)
    raise InputError(f"{path}: {name} is stored in an unsupported type; use Q8_0 or F16")
