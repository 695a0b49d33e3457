"""All rooms of a server: the server's loop fills them with sound, and a source of the flow empties them."""

import hmac
from collections.abc import Callable
from datetime import datetime
from threading import Event as Flag
from threading import Lock
from time import monotonic

from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from typing_extensions import override

from connectors.pacing import ALWAYS_DUE, nap
from connectors.rooms.keys import RoomKeys
from connectors.rooms.room import Room, RoomLimits
from operators.clock import LagClock
from operators.errors import UsageError
from operators.events import AudioChunk, Caption, parted
from operators.languages import Direction, Language, direction_among, is_language, language

# Number of ended rooms whose languages are remembered.
_MAX_PAST = 1000


class RoomsFullError(UsageError):
    """There is no place for another room."""


class RoomRegistry:
    """The open rooms, on one clock. Thread-safe."""

    def __init__(
        self,
        limits: RoomLimits,
        spoken: tuple[Language, ...],
        written: tuple[Language, ...],
        now: Callable[[], float] = monotonic,
        keys: RoomKeys | None = None,
        *,
        mixes: bool = False,
    ) -> None:
        """Offer rooms in any of the ``spoken`` languages, with captions in any of the ``written`` ones.

        If it ``mixes``, a room may be in several of the spoken ones. Without ``written`` ones, captions are
        in the language that is spoken. A room whose key is among ``keys`` can be opened again.
        """
        self.limits, self.spoken, self.written, self.keys = limits, spoken, written, keys
        self.mixes = mixes and len(spoken) > 1
        self._now, self._began_s = now, now()
        #: The time on the stream of each room.
        self.clock = LagClock(self.now)
        self._lock = Lock()
        self._rooms: dict[str, Room] = {}
        # The open rooms, and the last ended ones: the flow may still need their languages.
        self._known: dict[str, Room] = {}
        self._is_closed = False

    @property
    def directions(self) -> tuple[Direction, ...]:
        """All pairs of languages that rooms may choose, the usual one first."""
        return tuple(
            Direction(source, target) for source in self.spoken for target in self.written or (source,)
        )

    def __len__(self) -> int:
        return len(self._rooms)

    def now(self) -> float:
        """Seconds since the server began: the clock of the times at which rooms begin."""
        return self._now() - self._began_s

    # For the server.

    def open(self, name: str, source: str | None, target: str | None, key: str | None = None) -> Room:
        """Open a room; ``source`` and ``target`` may name several languages, with commas between them.

        With the ``key`` of an earlier room, it has the name and the secrets of that one.

        Raises:
            UsageError: for a language that is not offered, or named twice; without a name; for a key of no
                earlier room.
            RoomsFullError: when all places are taken.
        """
        if key is not None:
            earlier = None if self.keys is None else self.keys.name(key)
            if earlier is None:
                raise UsageError("there is no such room any more; open a new one")
            name = earlier
        if not name:
            raise UsageError("the room has no name; give it one")
        spoken = _offered(source, self.spoken, "spoken")
        if len(spoken) > 1 and not self.mixes:
            raise UsageError(
                f"{source!r} are {len(spoken)} languages; name the one that is spoken in the room"
            )
        written = _offered(target, self.written or (spoken[0],), "written")
        directions = tuple(Direction(one, to) for one in spoken for to in written)
        with self._lock:
            if self._is_closed:
                raise RoomsFullError("this server is about to end; try again later")
            if len(self._rooms) >= self.limits.rooms:
                many = "the only room" if self.limits.rooms == 1 else f"all {self.limits.rooms} rooms"
                verb = "is" if self.limits.rooms == 1 else "are"
                raise RoomsFullError(f"{many} of this server {verb} taken; try again when one has ended")
            room = Room(
                name, directions, key, limits=self.limits, lock=self._lock, clock=self.clock, now=self.now
            )
            self._rooms[room.stream] = self._known[room.stream] = room
            while len(self._known) > len(self._rooms) + _MAX_PAST:
                del self._known[next(one for one in self._known if one not in self._rooms)]
        if self.keys is not None:
            self.keys.keep(name, room.key)
        return room

    def known(self, key: str) -> Room | None:
        """The open room whose speaker has this key, unless it is about to end."""
        given = key.encode("utf-8", "replace")
        with self._lock:
            rooms = [room for room in self._rooms.values() if not room.is_ending]
            return next((room for room in rooms if hmac.compare_digest(given, room.key.encode())), None)

    # For the flow.

    def take(self) -> list[AudioChunk]:
        """The sound of all rooms that the recognisers can take now."""
        with self._lock:
            return [chunk for room in self._rooms.values() for chunk in room.take()]

    def close(self) -> list[AudioChunk]:
        """Accept no more sound, and return all that was accepted."""
        with self._lock:
            self._is_closed = True
            for room in self._rooms.values():
                room.is_closed = True
        return self.take()

    def processed(self, chunk: AudioChunk) -> None:
        with self._lock:
            if (room := self._rooms.get(chunk.stream)) is not None:
                room.processed(chunk)

    def ended(self, stream: str, sentences: int) -> bool:
        """No more sentences follow than these; returns whether their room is over."""
        with self._lock:
            if (room := self._rooms.get(stream)) is not None:
                room.sentences = sentences
            return self._leaves(room)

    def shown(self, caption: Caption) -> bool:
        """A caption was shown; returns whether its room is over."""
        with self._lock:
            room = self._rooms.get(caption.stream) if caption.is_final else None
            if room is not None:
                room.finals += 1
            return self._leaves(room)

    def _leaves(self, room: Room | None) -> bool:
        if room is None or not room.is_over:
            return False
        del self._rooms[room.stream]
        return True

    def has_left(self, channel: str) -> bool:
        return parted(channel)[0] not in self._rooms

    def directions_of(self, stream: str) -> tuple[Direction, ...]:
        """The languages of a room; the first ones that are offered if there is no such room."""
        room = self._known.get(stream)
        return self.directions[:1] if room is None else room.directions

    def direction(self, channel: str, spoken: str = "") -> Direction:
        """The direction of a channel: that of a room, or of one of its caption languages."""
        stream, code = parted(channel)
        return direction_among(self.directions_of(stream), spoken, code)

    def speaker(self, stream: str) -> str:
        """The name of a room; if there is no such room, the name of its stream, which is longer."""
        room = self._known.get(stream)
        return stream if room is None else room.name

    def began_s(self, stream: str) -> float:
        """When a room was opened, on the clock of all streams; 0 if there is no such room."""
        room = self._known.get(stream)
        return 0.0 if room is None else room.began_s


def _offered(wanted: str | None, offered: tuple[Language, ...], how: str) -> list[Language]:
    if wanted is None:
        return [offered[0]]
    found = []
    for name in wanted.split(","):
        # Not the sentence of `language`, which lists more languages than are offered here.
        # A browser may request pt-BR where Portuguese is offered.
        asked = (language(name), language(name).general) if is_language(name) else ()
        one = next((one for one in asked if one in offered), None)
        if one is None:
            choices = ", ".join(one.name for one in offered)
            raise UsageError(f"{name!r} cannot be {how} here; choose from {choices}")
        found.append(one)
    if len(set(found)) < len(found):
        raise UsageError(f"{wanted!r} names a language twice; name each once")
    return found


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
