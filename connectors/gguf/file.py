"""Reads the header and tensors of a GGUF file, and writes them again with some of them replaced.

Only what is requested is interpreted: all other entries and tensors are copied as bytes, whatever type a
newer llama.cpp gave them. The layout follows the GGUF specification in ggml's ``docs/gguf.md``.
"""

import os
import struct
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from connectors.gguf.header import TENSOR_BLOCKS, check_gguf
from operators.models.adapter import Matrix
from operators.models.quantize import dequantize

STRING, ARRAY, _BOOL = 8, 9, 7
#: The `struct` format of a value, by GGUF's type number.
FORMATS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}

Value = str | int | float | bool | list[str] | NDArray[np.generic]


class Entry(NamedTuple):
    """One value of the header as stored in the file."""

    #: GGUF's type number.
    kind: int
    #: The value itself, without the preceding type.
    data: bytes


def decode(entry: Entry) -> Value | None:
    """The value of an entry; None for an array of arrays, which surtitle never reads."""
    if entry.kind == STRING:
        return entry.data[8:].decode("utf-8", "replace")
    if entry.kind != ARRAY:
        value: Value = struct.unpack("<" + FORMATS[entry.kind], entry.data)[0]
        return value
    kind, count = struct.unpack_from("<IQ", entry.data)
    if kind in FORMATS:
        return np.frombuffer(entry.data, np.dtype("<" + FORMATS[kind]), count, 12)
    return (
        [text.decode("utf-8", "replace") for text in _strings(entry.data, count)] if kind == STRING else None
    )


def encode(value: Value, kind: int | None = None) -> Entry:
    """An entry for a value; an integer becomes an unsigned 32-bit number unless ``kind`` says otherwise."""
    if isinstance(value, str):
        return Entry(STRING, packed(value))
    if isinstance(value, list):
        return Entry(ARRAY, struct.pack("<IQ", STRING, len(value)) + b"".join(map(packed, value)))
    if isinstance(value, np.ndarray):
        kinds = {np.dtype("<" + name): number for number, name in FORMATS.items()}
        head = struct.pack("<IQ", kinds[value.dtype], value.size)
        return Entry(ARRAY, head + value.tobytes())
    if kind is None:
        kind = _BOOL if isinstance(value, bool) else 4 if isinstance(value, int) else 6
    return Entry(kind, struct.pack("<" + FORMATS[kind], value))


def select(entry: Entry, places: NDArray[np.intp]) -> Entry:
    """An array entry with only the elements at ``places``, in that order."""
    value = decode(entry)
    if isinstance(value, np.ndarray):
        return encode(value[places])
    kind, count = struct.unpack_from("<IQ", entry.data)
    assert kind == STRING
    texts = _strings(entry.data, count)  # bytes, because a vocabulary may contain invalid UTF-8
    chosen = (texts[place] for place in places)
    body = b"".join(struct.pack("<Q", len(text)) + text for text in chosen)
    return Entry(ARRAY, struct.pack("<IQ", kind, len(places)) + body)


def count_of(entry: Entry) -> int:
    """The number of elements of an array; 0 for anything else."""
    return int(struct.unpack_from("<IQ", entry.data)[1]) if entry.kind == ARRAY else 0


def packed(text: str) -> bytes:
    """A string preceded by its length."""
    data = text.encode("utf-8")
    return struct.pack("<Q", len(data)) + data


def _strings(data: bytes, count: int) -> list[bytes]:
    texts, position, unpack = [], 12, struct.Struct("<Q").unpack_from
    for _ in range(count):
        start = position + 8
        position = start + unpack(data, position)[0]
        texts.append(data[start:position])
    return texts


_ALIGNMENT = 32
_ALIGNMENT_KEY = "general.alignment"
_COPY_BYTES = 4 * 2**20

Bytes = NDArray[np.uint8]


class Tensor(NamedTuple):
    """One tensor as stored in the file."""

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
        """The value of an entry; None if there is none or it is an array of arrays."""
        entry = self.entries.get(key)
        return None if entry is None else decode(entry)

    def text(self, key: str) -> str:
        """The value of a string entry; empty if there is none."""
        value = self.value(key)
        return value if isinstance(value, str) else ""


def read_gguf(path: Path) -> GgufFile:
    """Read the header and map the tensors.

    Raises:
        InputError: the file is missing, unreadable, not a GGUF file, damaged or truncated.
    """
    check_gguf(path)  # from here on, the lengths in the header can be trusted
    mapped: Bytes = np.memmap(path, np.uint8, "r")
    cursor = _Cursor(mapped.data)
    cursor.position = 8
    tensors, count = cursor.number("Q"), cursor.number("Q")
    entries = dict(cursor.entry() for _ in range(count))
    infos = [cursor.tensor_info() for _ in range(tensors)]
    said = entries.get(_ALIGNMENT_KEY)
    alignment = struct.unpack("<I", said.data)[0] if said and said.kind == 4 else _ALIGNMENT
    start = -(-cursor.position // alignment) * alignment
    ends = _ends(infos, len(mapped) - start)
    return GgufFile(
        entries,
        {
            name: Tensor(kind, shape, mapped[start + offset : start + end])
            for (name, kind, shape, offset), end in zip(infos, ends, strict=True)
        },
    )


def write_gguf(
    path: Path,
    entries: Mapping[str, Entry],
    tensors: Mapping[str, Tensor],
    progress: Callable[[float], None] | None = None,
) -> None:
    """Write a GGUF file of version 3; ``progress`` gets the fraction done.

    It must not be the file from which the tensors are mapped.

    Raises `OSError` if it cannot be written.
    """
    kept = {key: entry for key, entry in entries.items() if key != _ALIGNMENT_KEY}
    infos, place = [], 0
    for name, tensor in tensors.items():
        dimensions = struct.pack(f"<I{len(tensor.shape)}Q", len(tensor.shape), *tensor.shape)
        infos.append(packed(name) + dimensions + struct.pack("<IQ", tensor.kind, place))
        place += _padded(len(tensor.data))
    header = b"".join(
        (
            b"GGUF",
            struct.pack("<IQQ", 3, len(tensors), len(kept)),
            *(packed(key) + struct.pack("<I", entry.kind) + entry.data for key, entry in kept.items()),
            *infos,
        )
    )
    done = 0
    with path.open("wb") as file:
        file.write(header.ljust(_padded(len(header)), b"\0"))
        for tensor in tensors.values():
            for begin in range(0, len(tensor.data), _COPY_BYTES):
                part = tensor.data[begin : begin + _COPY_BYTES]
                file.write(np.ascontiguousarray(part).data)
                done += len(part)
                if progress is not None:
                    progress(done / place)
            file.write(bytes(_padded(len(tensor.data)) - len(tensor.data)))
        file.flush()
        os.fsync(file.fileno())


def rows_of(tensor: Tensor) -> Bytes:
    """The bytes of a tensor as a matrix, one row for each row of its first axis.

    Raises `ValueError` for an unknown type, and if the blocks do not fill the rows.
    """
    block, block_bytes = TENSOR_BLOCKS.get(tensor.kind, (0, 0))
    if not block or not tensor.shape or not tensor.shape[0] or tensor.shape[0] % block:
        raise ValueError(f"a tensor of type {tensor.kind} and shape {tensor.shape}")
    return tensor.data.reshape(-1, tensor.shape[0] // block * block_bytes)


def _ends(infos: Iterable[tuple[str, int, tuple[int, ...], int]], size: int) -> list[int]:
    """The end of each tensor's data: by its type or, if that is unknown, where the next tensor begins."""
    infos = list(infos)
    places = sorted({*(offset for *_, offset in infos), size})
    following = dict(pairwise(places))
    ends = []
    for _, kind, shape, offset in infos:
        if kind in TENSOR_BLOCKS:
            block, block_bytes = TENSOR_BLOCKS[kind]
            ends.append(offset + int(np.prod(shape, dtype=np.int64)) // block * block_bytes)
        else:
            ends.append(following.get(offset, offset))
    return ends


def _padded(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


class _Cursor:
    """A position in a header whose lengths have been checked."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self.position = 0

    def number(self, form: str) -> int:
        value: int = struct.unpack_from("<" + form, self._data, self.position)[0]
        self.position += struct.calcsize(form)
        return value

    def text(self) -> str:
        length = self.number("Q")
        start, self.position = self.position, self.position + length
        return bytes(self._data[start : self.position]).decode("utf-8", "replace")

    def entry(self) -> tuple[str, Entry]:
        key, kind = self.text(), self.number("I")
        start = self.position
        self._skip(kind)
        return key, Entry(kind, bytes(self._data[start : self.position]))

    def tensor_info(self) -> tuple[str, int, tuple[int, ...], int]:
        name = self.text()
        shape = tuple(self.number("Q") for _ in range(self.number("I")))
        kind = self.number("I")
        return name, kind, shape, self.number("Q")

    def _skip(self, kind: int) -> None:
        if kind == STRING:
            length = self.number("Q")
            self.position += length
        elif kind == ARRAY:
            element, count = self.number("I"), self.number("Q")
            if element in FORMATS:
                self.position += count * struct.calcsize(FORMATS[element])
            else:
                for _ in range(count):
                    self._skip(element)
        else:
            self.position += struct.calcsize(FORMATS[kind])


def matrix_of(tensor: Tensor, rows: NDArray[np.int32] | slice = slice(None)) -> Matrix | None:
    """Some rows of a tensor, all by default; None if it is not a matrix or has an unknown type."""
    if len(tensor.shape) != 2:
        return None
    try:
        return dequantize(rows_of(tensor)[rows], tensor.kind)
    except (ValueError, NotImplementedError):
        # A type unknown to our file reader, or one that gguf cannot convert to numbers.
        return None
