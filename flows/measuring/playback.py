"""A recording played back in many rooms: each begins at another place and speaks at its own pace.

The recording is sound, or recorded partials or translations; a translation holds the effort of its update.
"""

import hashlib
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from heapq import merge
from operator import itemgetter
from pathlib import Path
from threading import Event as Flag
from time import monotonic
from typing import Generic, NamedTuple, TypeVar

import msgspec
from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from typing_extensions import override

from connectors.audio.decoder import AudioDecoder, probe
from connectors.jsonl.files import event_type_of, read_events
from connectors.pacing import ALWAYS_DUE, nap
from connectors.rooms.room import BYTES_PER_SECOND
from operators.errors import InputError, UsageError
from operators.events import AudioChunk, Event, Partial, Translation
from operators.serving.simulation import Heard, Recorded, Recording, phase

E = TypeVar("E", bound=Event)
#: An event, and when it is due, in seconds since the rooms began.
Due = tuple[float, E]

#: Seconds of a piece of sound.
PIECE_S = 0.1
_PIECE_BYTES = int(PIECE_S * BYTES_PER_SECOND)
# More sound than this is not kept in memory; the rooms begin again.
_MAX_BYTES = 3600 * BYTES_PER_SECOND
# Seconds over which the beginnings of the rooms are spread. Recognisers that heard their first sound in the
# same moment would all be busy in the same moments.
_BEGIN_S = 1.0


class Load(NamedTuple):
    """How many rooms speak, and for how long."""

    rooms: int
    seconds: float


class Events(NamedTuple):
    """Recorded events, and their origin."""

    #: The file and which of its segments these are, and a hash of the text.
    name: str
    sha256: str
    recording: Recording
    heard: tuple[Heard, ...]
    #: The effort of each update; None if that was not recorded.
    recorded: tuple[Recorded, ...] | None


def read_recorded(path: Path, limit: int | None) -> Events:
    """Read the first ``limit`` segments of a file of partials or translations, one stream after the other.

    Raises `InputError` for an unusable file.
    """
    kind = event_type_of(path)
    if kind not in (Partial, Translation):
        raise InputError(
            f"{path}: {kind.__name__.lower()} events cannot be replayed in rooms; "
            "give partials or translations"
        )
    events: dict[tuple[str, int], list[Partial | Translation]] = {}
    for event in read_events(path, kind):
        assert isinstance(event, Partial | Translation)
        events.setdefault((event.stream, event.segment), []).append(event)
    heard, recorded = list[Heard](), list[Recorded]()
    before: str | None = None
    offset_s = last_s = 0.0
    for number, ((stream, _), updates) in enumerate(list(events.items())[:limit]):
        if stream != before:
            # Each stream has its own clock.
            offset_s, before = last_s - updates[0].arrival_s, stream
        for event in updates:
            last_s = max(last_s, offset_s + event.arrival_s)
            text = event.source if isinstance(event, Translation) else event.text
            heard.append(Heard(number, text, event.is_final, last_s))
            if isinstance(event, Translation):
                recorded.append(Recorded.of(event.effort, len(event.tokens)))
    if not any(one.text.strip() for one in heard):
        raise InputError(f"{path}: there is nothing to translate; check the file and --limit")
    segments = heard[-1].segment + 1
    return Events(
        f"{path.name}|segments:1-{segments}",
        hashlib.sha256(msgspec.json.encode(heard)).hexdigest()[:12],
        Recording(heard),
        tuple(heard),
        tuple(recorded) if kind is Translation else None,
    )


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
    probe(recording)
    pcm = bytearray()
    with closing(AudioDecoder(recording)) as decoder:
        for block in decoder.blocks():
            pcm += block
            if len(pcm) >= _MAX_BYTES:
                break
    if len(pcm) < _PIECE_BYTES:
        raise UsageError(f"{recording} holds no speech; give a longer recording")
    return Sound(bytes(pcm))


def partials(recording: Recording, load: Load, prefix: str = "") -> Iterator[Due[Partial]]:
    """The partials of all rooms, in the order of their times; ``prefix`` begins the names of the rooms."""
    revisions: dict[tuple[str, int], int] = {}
    for update in recording.arrivals(load.rooms, load.seconds):
        segment = (update.room, update.segment)
        revision = revisions.pop(segment, -1) + 1
        if not update.is_final:
            revisions[segment] = revision
        yield (
            update.arrival_s,
            Partial(
                stream=f"{prefix}{update.room}",
                segment=update.segment,
                revision=revision,
                text=update.text,
                is_final=update.is_final,
                start_s=update.arrival_s,
                end_s=update.arrival_s,
                arrival_s=update.arrival_s,
                # Each update of a recording gets a caption, so that the captions can be told apart.
                is_sentence=True,
            ),
        )


def chunks(sound: Sound, load: Load) -> Iterator[Due[AudioChunk]]:
    """The sound of all rooms, each piece when its last sample has been said."""
    return merge(*(_room(sound, load, number) for number in range(load.rooms)), key=itemgetter(0))


def begin_s(room: int) -> float:
    """When a room begins to speak, in seconds since the load began."""
    return _BEGIN_S * phase(room)


def _room(sound: Sound, load: Load, number: int) -> Iterator[Due[AudioChunk]]:
    stream, start_s = f"room {number + 1}", begin_s(number)
    for pcm in sound.pieces(number):
        end_s = start_s + PIECE_S
        if end_s > load.seconds:
            break
        yield end_s, AudioChunk(stream=stream, start_s=start_s, pcm=pcm)
        start_s = end_s
    yield start_s, AudioChunk(stream=stream, start_s=start_s, pcm=b"", is_last=True)


class RoomsSource(FixedPartitionedSource[E, None], Generic[E]):
    """The events of all rooms. Delivery: best effort; rooms cannot be resumed."""

    def __init__(self, events: Iterator[Due[E]], stop: Flag) -> None:
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
    def build_part(self, step_id: str, for_part: str, resume_state: None) -> "_Partition[E]":
        self.began_s = monotonic()
        return _Partition(self)


class _Partition(StatefulSourcePartition[E, None], Generic[E]):
    def __init__(self, source: RoomsSource[E]) -> None:
        self._source = source
        self._following = next(source.events, None)

    @override
    def next_batch(self) -> list[E]:
        if self._following is None or self._source.stop.is_set():
            raise StopIteration
        due = list[E]()
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
