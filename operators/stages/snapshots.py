"""Serialises the states of stages; compact, because all open states are stored every second."""

import zlib
from typing import TypeVar

import msgspec

S = TypeVar("S", bound=msgspec.Struct)


def pack(state: msgspec.Struct) -> bytes:
    """A state as bytes; repeated parts, such as a text and its beginning, take space only once."""
    return zlib.compress(msgspec.msgpack.encode(state))


def unpack(packed: bytes, kind: type[S]) -> S:
    """Unpack a state; its schema is the one stored in the recovery folder."""
    return msgspec.msgpack.decode(zlib.decompress(packed), type=kind)
