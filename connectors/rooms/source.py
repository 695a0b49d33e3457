"""The sound of all rooms as a source of the flow."""

from datetime import datetime
from threading import Event as Flag

from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from typing_extensions import override

from connectors.pacing import ALWAYS_DUE, nap
from connectors.rooms.registry import RoomRegistry
from operators.events import AudioChunk

_FETCH_S = 0.02


class RoomsSource(FixedPartitionedSource[AudioChunk, None]):
    """Chunks of at most 100 ms, of all rooms.

    Delivery: at most once. Speakers cannot be rewound; whatever a room has accepted is delivered before the
    source ends.
    """

    def __init__(self, rooms: RoomRegistry, stop: Flag) -> None:
        """``stop``: when set, what was accepted is delivered and the source ends."""
        self.rooms = rooms
        self.stop = stop

    def now(self) -> float:
        """Seconds since the server began."""
        return self.rooms.now()

    @override
    def list_parts(self) -> list[str]:
        return ["rooms"]

    @override
    def build_part(self, step_id: str, for_part: str, resume_state: None) -> "_RoomsPartition":
        return _RoomsPartition(self)


class _RoomsPartition(StatefulSourcePartition[AudioChunk, None]):
    def __init__(self, source: RoomsSource) -> None:
        self._source = source
        self._is_over = False

    @override
    def next_batch(self) -> list[AudioChunk]:
        if self._is_over:
            raise StopIteration
        self._is_over = self._source.stop.is_set()
        if self._is_over:
            return self._source.rooms.close()
        chunks = self._source.rooms.take()
        if not chunks:
            nap(_FETCH_S)
        return chunks

    @override
    def next_awake(self) -> datetime | None:
        return None if self._is_over else ALWAYS_DUE

    @override
    def snapshot(self) -> None:
        return None
