"""The rooms of a load: their input, and the results as rows and a table.

Each room plays the recording in real time, from another position.
"""

from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from heapq import merge
from itertools import count
from operator import attrgetter, itemgetter
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from connectors.audio.decoder import open_audio
from connectors.jsonl.files import event_type_of, read_events
from connectors.rooms.room import BYTES_PER_SECOND
from flows.pages.table import Column, Table, tabulated
from operators.errors import InputError, UsageError
from operators.events import AudioChunk, Partial

#: When an event is due, in seconds since the rooms began, and the event.
Due = tuple[float, Any]

#: Seconds of a piece of sound.
PIECE_S = 0.1
_PIECE_BYTES = int(PIECE_S * BYTES_PER_SECOND)
# Maximum sound in memory; the rooms repeat it.
_MAX_BYTES = 3600 * BYTES_PER_SECOND
# Seconds over which the beginnings of the rooms are spread. Recognisers that begin in the same moment would
# all be busy at the same times.
_BEGIN_S = 1.0
# The fractional part of the golden ratio: it spreads any number of rooms evenly.
_SPREAD = 0.6180339887498949


class Load(NamedTuple):
    rooms: int
    seconds: float


def phase(room: int) -> float:
    """The start in the recording, as a fraction; 0 for the first room."""
    return room * _SPREAD % 1.0


def begin_s(room: int) -> float:
    """Seconds from the start of the load until the room speaks."""
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
    """The partials of all rooms by time; ``heard`` must be sorted by time."""
    rooms = (_spoken(heard, number, load.seconds) for number in range(load.rooms))
    return ((one.arrival_s, one) for one in merge(*rooms, key=attrgetter("arrival_s")))


def _spoken(heard: Sequence[Partial], room: int, seconds: float) -> Iterator[Partial]:
    """Whole segments from the room's start on; the recording repeats."""
    first_s, last_s = heard[0].arrival_s, heard[-1].arrival_s
    # The gap between two turns is the average gap.
    length_s = last_s - first_s + max((last_s - first_s) / len(heard), 0.1)
    segment, revision = -1, 0
    for turn in count():
        for place, one in enumerate(heard):
            at_s = one.arrival_s - first_s + (turn - phase(room)) * length_s
            if at_s >= seconds:
                return
            own = one.segment + turn * (heard[-1].segment + 1)
            is_first = place == 0 or heard[place - 1].segment != one.segment
            if at_s >= 0 and is_first:
                segment, revision = own, 0
            if own == segment:
                yield replace(
                    one, stream=f"room {room + 1}", segment=segment, revision=revision,
                    start_s=at_s, end_s=at_s, arrival_s=at_s,
                    # Each update of a recording gets a caption, so captions must be distinguishable.
                    is_sentence=True,
                )  # fmt: skip
                revision += 1


def read_sound(recording: Path) -> bytes:
    """The sound of a file, 16 kHz mono samples of 16 bits, as long as whole pieces.

    Raises:
        InputError: for a file that cannot be read.
        UsageError: for a file that is too short.
    """
    pcm = bytearray()
    with closing(open_audio(recording)) as decoder:
        for block in decoder.blocks():
            pcm += block
            if len(pcm) >= _MAX_BYTES:
                break
    if len(pcm) < _PIECE_BYTES:
        raise UsageError(f"{recording} holds no speech; give a longer recording")
    return bytes(pcm[: len(pcm) - len(pcm) % _PIECE_BYTES])


def pieces(pcm: bytes, room: int) -> Iterator[bytes]:
    """The sound of a room in pieces, without end; each room starts at another place."""
    at = _PIECE_BYTES * int(len(pcm) // _PIECE_BYTES * phase(room))
    while True:
        yield pcm[at : at + _PIECE_BYTES]
        at = (at + _PIECE_BYTES) % len(pcm)


def chunks(pcm: bytes, load: Load) -> Iterator[Due]:
    """The sound of all rooms, each piece at the time of its last sample."""
    return merge(*(_room(pcm, load, number) for number in range(load.rooms)), key=itemgetter(0))


def _room(pcm: bytes, load: Load, number: int) -> Iterator[Due]:
    stream, start_s = f"room {number + 1}", begin_s(number)
    for piece in pieces(pcm, number):
        end_s = start_s + PIECE_S
        if end_s > load.seconds:
            break
        yield end_s, AudioChunk(stream=stream, start_s=start_s, pcm=piece)
        start_s = end_s
    yield start_s, AudioChunk(stream=stream, start_s=start_s, pcm=b"", is_last=True)


#: A row of the ``--json`` file.
Row = dict[str, Any]


class Meter:
    """Counts the results of a load; thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        #: By the names of a row.
        self.counts = Counter[str]()
        self.lags_s = array("d")

    def caption(self, lag_s: float, *, is_final: bool) -> None:
        with self._lock:
            self.counts.update(updates=1, finals=is_final)
            self.lags_s.append(lag_s)

    def add(self, **more: int) -> None:
        """Count what was lost, by the names of a row."""
        with self._lock:
            self.counts.update(more)


_COUNTED = ("updates", "finals", "dropped", "lost", "refused", "cut")


def row_of(load: Load, meter: Meter, target: str, memory_mb: float | None) -> Row:
    """The row of one load; delays are from the partial (or from the end of speech) to the caption."""
    p50_ms, p95_ms = None, None
    if meter.lags_s:
        p50_ms, p95_ms = (round(1000 * float(one), 1) for one in np.percentile(meter.lags_s, [50, 95]))
    return {
        "rooms": load.rooms,
        "target": target,
        "seconds": load.seconds,
        **{name: meter.counts[name] for name in _COUNTED},
        "updates_per_second": round(meter.counts["updates"] / load.seconds, 2),
        "p50_ms": p50_ms,
        "p95_ms": p95_ms,
        "memory_mb": None if memory_mb is None else round(memory_mb, 1),
    }


_COLUMNS = (
    Column("rooms", "rooms"),
    Column("updates/s", "updates_per_second", 1),
    Column("p50 ms", "p50_ms", 0),
    Column("p95 ms", "p95_ms", 0),
    *(Column(name, name) for name in _COUNTED),
    Column("memory MB", "memory_mb", 0),
)
_NOTES = (
    "p50, p95: delay of captions, from the partial, or from the speech if sound was sent",
    "dropped: superseded partials; lost: segments without a final; refused: rooms",
    "cut: rooms that were cut off before their last caption",
)


def table(rows: Sequence[Row]) -> Table:
    return tabulated(f"load on the {rows[0]['target']}", rows, _COLUMNS, notes=_NOTES)
