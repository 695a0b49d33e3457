"""Values in a GGUF file's header: as bytes to copy, and decoded."""

import struct
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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
