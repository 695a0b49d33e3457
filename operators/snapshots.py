"""The states of stages as bytes: small, because those of everything that is open are stored every second."""

import zlib
from typing import TypeVar

import msgspec

S = TypeVar("S", bound=msgspec.Struct)


def pack(state: msgspec.Struct) -> bytes:
    """A state as bytes; what it holds twice, as a text and its beginning, takes its room once."""
    return zlib.compress(msgspec.msgpack.encode(state))


def unpack(packed: bytes, kind: type[S]) -> S:
    """The state that was packed; its schema is the recovery folder's."""
    return msgspec.msgpack.decode(zlib.decompress(packed), type=kind)
