"""A recording played back in many rooms: each begins at another place and speaks at its own pace."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import datetime
from heapq import merge
from itertools import count
from operator import attrgetter, itemgetter
from pathlib import Path
from threading import Event as Flag
from time import monotonic
from typing import Any, NamedTuple

from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from msgspec.structs import replace
from typing_extensions import override

from connectors.audio.decoder import open_audio
from connectors.jsonl.files import event_type_of, read_events
from connectors.pacing import ALWAYS_DUE, nap
from connectors.rooms.room import BYTES_PER_SECOND
from operators.errors import InputError, UsageError
from operators.events import AudioChunk, Partial

#: When an event is due, in seconds since the rooms began, and the event.
Due = tuple[float, Any]

#: Seconds of a piece of sound.
PIECE_S = 0.1
_PIECE_BYTES = int(PIECE_S * BYTES_PER_SECOND)
# More sound than this is not kept in memory; the rooms begin again.
_MAX_BYTES = 3600 * BYTES_PER_SECOND
# Seconds over which the beginnings of the rooms are spread. Recognisers that heard their first sound in the
# same moment would all be busy in the same moments.
_BEGIN_S = 1.0
# The fractional part of the golden ratio: it spreads any number of rooms evenly.
_SPREAD = 0.6180339887498949


class Load(NamedTuple):
    """How many rooms speak, and for how long."""

    rooms: int
    seconds: float


def phase(room: int) -> float:
    """Where in the recording a room begins: a fraction, 0 for the first room."""
    return room * _SPREAD % 1.0


def begin_s(room: int) -> float:
    """When a room begins to speak, in seconds since the load began."""
    return _BEGIN_S * phase(room)


def read_partials(path: Path) -> list[Partial]:
    """The partials of a file as those of one room: one stream after the other, with segments 0, 1, 2, …

    Raises `InputError` for an unusable file.
    """
    kind = event_type_of(path)
    if kind is not Partial:
        raise InputError(f"{path}: {kind.__name__.lower()} events cannot be replayed in rooms; give partials")
    segments: dict[tuple[str, int], list[Partial]] = {}
    for event in read_events(path, Partial):
        segments.setdefault((event.stream, event.segment), []).append(event)
    heard = list[Partial]()
    before: str | None = None
    offset_s = last_s = 0.0
    for number, ((stream, _), updates) in enumerate(segments.items()):
        if stream != before:
            # Each stream has its own clock.
            offset_s, before = last_s - updates[0].arrival_s, stream
        for one in updates:
            last_s = max(last_s, offset_s + one.arrival_s)
            heard.append(replace(one, segment=number, arrival_s=last_s))
    if not any(one.text.strip() for one in heard):
        raise InputError(f"{path}: there is nothing to translate; check the file")
    return heard


def partials(heard: Sequence[Partial], load: Load) -> Iterator[Due]:
    """The partials of all rooms in the order of their times, which must ascend in ``heard``."""
    rooms = (_saying(heard, number, load.seconds) for number in range(load.rooms))
    return ((one.arrival_s, one) for one in merge(*rooms, key=attrgetter("arrival_s")))


def _saying(heard: Sequence[Partial], room: int, seconds: float) -> Iterator[Partial]:
    """What a room says: the whole segments from its place on, again from the beginning when all are said."""
    first_s, last_s = heard[0].arrival_s, heard[-1].arrival_s
    # The gap from the last one to the first one of the next turn is the average gap.
    length_s = last_s - first_s + max((last_s - first_s) / len(heard), 0.1)
    begun, revision = -1, 0
    for turn in count():
        for place, one in enumerate(heard):
            at_s = one.arrival_s - first_s + (turn - phase(room)) * length_s
            if at_s >= seconds:
                return
            segment = one.segment + turn * (heard[-1].segment + 1)
            is_first = place == 0 or heard[place - 1].segment != one.segment
            if at_s >= 0 and is_first:
                begun, revision = segment, 0
            if segment == begun:
                yield replace(
                    one, stream=f"room {room + 1}", segment=segment, revision=revision,
                    start_s=at_s, end_s=at_s, arrival_s=at_s,
                    # Each update of a recording gets a caption, so that the captions can be told apart.
                    is_sentence=True,
                )  # fmt: skip
                revision += 1


class Sound:
    """A recording: 16 kHz mono samples of 16 bits."""

    def __init__(self, pcm: bytes) -> None:
        """``pcm`` must fill a piece; what is left over after the last whole piece is not used."""
        self._pcm = pcm[: len(pcm) - len(pcm) % _PIECE_BYTES]

    def pieces(self, room: int) -> Iterator[bytes]:
        """The pieces that a room says, without end; each room begins at another place."""
        at = _PIECE_BYTES * int(len(self._pcm) // _PIECE_BYTES * phase(room))
        while True:
            yield self._pcm[at : at + _PIECE_BYTES]
            at = (at + _PIECE_BYTES) % len(self._pcm)


def read_sound(recording: Path) -> Sound:
    """The sound of a file.

    Raises:
        InputError: for a file that cannot be read.
        UsageError: for one that holds next to nothing.
    """
    pcm = bytearray()
    with closing(open_audio(recording)) as decoder:
        for block in decoder.blocks():
            pcm += block
            if len(pcm) >= _MAX_BYTES:
                break
    if len(pcm) < _PIECE_BYTES:
        raise UsageError(f"{recording} holds no speech; give a longer recording")
    return Sound(bytes(pcm))


def chunks(sound: Sound, load: Load) -> Iterator[Due]:
    """The sound of all rooms, each piece when its last sample has been said."""
    return merge(*(_room(sound, load, number) for number in range(load.rooms)), key=itemgetter(0))


def _room(sound: Sound, load: Load, number: int) -> Iterator[Due]:
    stream, start_s = f"room {number + 1}", begin_s(number)
    for pcm in sound.pieces(number):
        end_s = start_s + PIECE_S
        if end_s > load.seconds:
            break
        yield end_s, AudioChunk(stream=stream, start_s=start_s, pcm=pcm)
        start_s = end_s
    yield start_s, AudioChunk(stream=stream, start_s=start_s, pcm=b"", is_last=True)


class RoomsSource(FixedPartitionedSource[Any, None]):
    """The events of all rooms. Delivery: best effort; rooms cannot be resumed."""

    def __init__(self, events: Iterator[Due], stop: Flag) -> None:
        """``events`` come in the order of their times; ``stop`` ends them."""
        self.events = events
        self.stop = stop
        self.began_s: float | None = None

    def now(self) -> float:
        """Seconds since the rooms began."""
        return 0.0 if self.began_s is None else monotonic() - self.began_s

    @override
    def list_parts(self) -> list[str]:
        return ["rooms"]

    @override
    def build_part(self, step_id: str, for_part: str, resume_state: None) -> "_Partition":
        self.began_s = monotonic()
        return _Partition(self)


class _Partition(StatefulSourcePartition[Any, None]):
    def __init__(self, source: RoomsSource) -> None:
        self._source = source
        self._following = next(source.events, None)

    @override
    def next_batch(self) -> list[Any]:
        if self._following is None or self._source.stop.is_set():
            raise StopIteration
        due = []
        while self._following is not None and self._following[0] <= self._source.now():
            due.append(self._following[1])
            self._following = next(self._source.events, None)
        if not due and self._following is not None:
            nap(self._following[0] - self._source.now())
        return due

    @override
    def next_awake(self) -> datetime | None:
        return ALWAYS_DUE

    @override
    def snapshot(self) -> None:
        return None
