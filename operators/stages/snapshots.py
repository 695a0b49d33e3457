"""The state of a stage's streams: its compact form in a snapshot, and when it is forgotten."""

import zlib
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import TypeVar

import msgspec

S = TypeVar("S", bound=msgspec.Struct)


def pack(state: msgspec.Struct) -> bytes:
    """A state as bytes; repeated parts, such as a text and its beginning, take space only once."""
    return zlib.compress(msgspec.msgpack.encode(state))


def unpack(packed: bytes, kind: type[S]) -> S:
    """Unpack a state; its schema is the one stored in the recovery folder."""
    return msgspec.msgpack.decode(zlib.decompress(packed), type=kind)


#: Seconds of silence after which a stream is forgotten.
FORGOTTEN_AFTER_S = 86_400.0
# Time between two looks at the silence of a stream. Bytewax looks at the wall clock, which may be set: then a
# look comes early or late, but a stream is forgotten by the monotonic clock.
_LOOK = timedelta(seconds=60)


class Silence:
    """The silence of one stream. A stage is to call `is_long` at each `look_at`."""

    def __init__(self) -> None:
        """The stream was just heard; a resumed run begins anew to count."""
        self.broken()

    def broken(self) -> None:
        """The stream was heard."""
        self._heard_s = monotonic()
        self.look_at = datetime.now(UTC) + _LOOK

    def is_long(self) -> bool:
        """Whether the stream is to be forgotten; if not, there will be another look."""
        self.look_at = datetime.now(UTC) + _LOOK
        return monotonic() - self._heard_s >= FORGOTTEN_AFTER_S
