"""The state of a stage's streams: its compact form in a snapshot, and when it is freed."""

import zlib
from abc import abstractmethod
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Generic, TypeVar

import msgspec
from bytewax.operators import StatefulBatchLogic
from typing_extensions import override

S = TypeVar("S", bound=msgspec.Struct)
X = TypeVar("X")
Y = TypeVar("Y")


def pack(state: msgspec.Struct) -> bytes:
    """A state as compressed bytes; repeated parts, such as a text and its beginning, take little space."""
    return zlib.compress(msgspec.msgpack.encode(state))


def unpack(packed: bytes, kind: type[S]) -> S:
    """Unpack a state; its schema is the one stored in the recovery folder."""
    return msgspec.msgpack.decode(zlib.decompress(packed), type=kind)


#: Seconds of silence after which the state of a stream is freed.
FORGOTTEN_AFTER_S = 86_400.0
# Interval of checks for silence. Bytewax schedules them by the wall clock, which may be set. Then a check
# comes early or late, but the silence is measured by the monotonic clock.
_LOOK = timedelta(seconds=60)


class Silence:
    """The silence of one stream. A stage must call `is_long` at each `look_at`."""

    def __init__(self) -> None:
        """Count from now on; a resumed run starts at 0."""
        self.broken()

    def broken(self) -> None:
        self._heard_s = monotonic()
        self.look_at = datetime.now(UTC) + _LOOK

    def is_long(self) -> bool:
        """Whether the stream's state is to be freed; if not, the next check is scheduled."""
        self.look_at = datetime.now(UTC) + _LOOK
        return monotonic() - self._heard_s >= FORGOTTEN_AFTER_S


class StreamLogic(StatefulBatchLogic[X, Y, bytes], Generic[X, Y, S]):
    """The logic of a stage for one stream; its state is kept until it is done, or silent for a day."""

    def __init__(self, state: S) -> None:
        self.state = state
        self._silence = Silence()

    @abstractmethod
    def take(self, event: X) -> list[Y]:
        """The stage's output for an event."""

    def is_done(self) -> bool:
        """Whether the state can be freed after a batch."""
        return False

    @override
    def on_batch(self, values: list[X]) -> tuple[list[Y], bool]:
        self._silence.broken()
        return [made for event in values for made in self.take(event)], self.is_done()

    @override
    def on_notify(self) -> tuple[list[Y], bool]:
        return [], self._silence.is_long()

    @override
    def notify_at(self) -> datetime | None:
        return self._silence.look_at

    @override
    def snapshot(self) -> bytes:
        return pack(self.state)
