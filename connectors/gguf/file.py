"""Reads the header and tensors of a GGUF file, and writes them again with some of them replaced.

Only what is requested is interpreted: all other entries and tensors are copied as bytes, whatever type a
newer llama.cpp gave them. The layout follows the GGUF specification in ggml's ``docs/gguf.md``.
"""

import struct
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from connectors.gguf.header import (
    ALIGNMENT_KEY,
    ARRAY,
    BOOL,
    FLOAT32,
    FORMATS,
    STRING,
    UINT32,
    Bytes,
    TensorInfo,
    map_checked,
    padded,
)
from operators.errors import InputError
from operators.models.adapter import Matrix
from operators.models.quantize import block_of, dequantize

Value = str | int | float | bool | list[str] | NDArray[np.generic]


class Entry(NamedTuple):
    """One value of the header as stored in the file."""

    #: GGUF's type number.
    kind: int
    #: The value itself, without the preceding type.
    data: bytes


def decode(entry: Entry) -> Value:
    """The value of an entry."""
    if entry.kind == STRING:
        return entry.data[8:].decode("utf-8", "replace")
    if entry.kind != ARRAY:
        value: Value = struct.unpack("<" + FORMATS[entry.kind], entry.data)[0]
        return value
    kind, count = struct.unpack_from("<IQ", entry.data)
    if kind in FORMATS:
        return np.frombuffer(entry.data, np.dtype("<" + FORMATS[kind]), count, 12)
    return [text.decode("utf-8", "replace") for text in _strings(entry.data, count)]


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
        kind = BOOL if isinstance(value, bool) else UINT32 if isinstance(value, int) else FLOAT32
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


_COPY_BYTES = 4 * 2**20


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
        """The value of an entry; None if there is none."""
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
    mapped, header = map_checked(path)  # from here on, the lengths in the header can be trusted
    start = header.data_start
    ends = _ends(header.tensors, len(mapped) - start)
    return GgufFile(
        {key: Entry(kind, mapped[begin:end].tobytes()) for key, (kind, begin, end) in header.entries.items()},
        {
            info.name: Tensor(info.kind, info.shape, mapped[start + info.offset : start + end])
            for info, end in zip(header.tensors, ends, strict=True)
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
    kept = {key: entry for key, entry in entries.items() if key != ALIGNMENT_KEY}
    infos, place = [], 0
    for name, tensor in tensors.items():
        dimensions = struct.pack(f"<I{len(tensor.shape)}Q", len(tensor.shape), *tensor.shape)
        infos.append(packed(name) + dimensions + struct.pack("<IQ", tensor.kind, place))
        place += padded(len(tensor.data))
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
        file.write(header.ljust(padded(len(header)), b"\0"))
        for tensor in tensors.values():
            for begin in range(0, len(tensor.data), _COPY_BYTES):
                part = tensor.data[begin : begin + _COPY_BYTES]
                file.write(np.ascontiguousarray(part).data)
                done += len(part)
                if progress is not None:
                    progress(done / place)
            file.write(bytes(padded(len(tensor.data)) - len(tensor.data)))


def rows_of(tensor: Tensor) -> Bytes:
    """The bytes of a tensor as a matrix, one row for each row of its first axis.

    Raises `ValueError` for an unknown type, and if the blocks do not fill the rows.
    """
    block, block_bytes = block_of(tensor.kind)
    if not block or not tensor.shape or not tensor.shape[0] or tensor.shape[0] % block:
        raise ValueError(f"a tensor of type {tensor.kind} and shape {tensor.shape}")
    return tensor.data.reshape(-1, tensor.shape[0] // block * block_bytes)


def _ends(infos: Sequence[TensorInfo], size: int) -> list[int]:
    """The end of each tensor's data: by its type or, if that is unknown, where the next tensor begins."""
    following = dict(pairwise(sorted({*(info.offset for info in infos), size})))
    return [
        following.get(info.offset, info.offset) if info.size is None else info.offset + info.size
        for info in infos
    ]


def matrix_of(tensor: Tensor, rows: NDArray[np.int32] | slice = slice(None)) -> Matrix | None:
    """Some rows of a tensor, all by default; None if it is not a matrix or has an unknown type."""
    if len(tensor.shape) != 2:
        return None
    try:
        return dequantize(rows_of(tensor)[rows], tensor.kind)
    except ValueError:
        # A type that this llama.cpp does not know, or cannot convert to numbers.
        return None


def readable_matrix(file: GgufFile, name: str, path: Path) -> Matrix:
    """All of a tensor. Raises `InputError` if it is not a matrix or has an unknown type."""
    matrix = matrix_of(file.tensors[name])
    if matrix is None:
        raise InputError(f"{path}: {name} is stored in an unsupported type; use Q8_0 or F16")
    return matrix
