"""Events in files of JSON lines: one event per line, of one type per file."""

import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Generic

import msgspec
from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from typing_extensions import override

from connectors.files.line_reader import MAX_LINE_BYTES, LineReader
from connectors.files.output import check_writable
from connectors.files.records import ONE_FILE
from connectors.jsonl.lines import BadLine, E, LineDecoder, type_of_line
from connectors.jsonl.order import KnownSegments, SegmentOrder
from connectors.jsonl.rejects import Rejects
from connectors.jsonl.sink import JsonlSink
from connectors.pacing import ALWAYS_DUE, nap
from operators.errors import InputError
from operators.events import AudioChunk, Caption, Event, Partial, Translation

__all__ = [
    "JsonlPosition",
    "JsonlSink",
    "JsonlSource",
    "check_writable",
    "event_type_of",
    "read_events",
    "validate",
]

# How long it waits for workers before it looks again: little beside a step of a model.
_BREATH_S = 0.002


class JsonlPosition(msgspec.Struct, frozen=True):
    """The source's resume state."""

    #: Bytes and lines that were read.
    offset: int = 0
    line: int = 0
    #: Lines that were put aside, and the bytes that they take in the file of rejected lines.
    rejected: int = 0
    rejected_bytes: int = 0
    #: Seconds that the stream's clock had run, for real time.
    clock_s: float = 0.0
    #: What is known of the segments, to check their order.
    segments: KnownSegments = KnownSegments()


def event_type_of(path: Path) -> type[Event]:
    """The event type that a file holds, judged by its first line that is an event at all.

    Looks for it as far as one line can be long, not through gigabytes of something else.

    Raises:
        InputError: when the file cannot be read or no line there is an event.
    """
    first_bad: InputError | None = None
    with LineReader(path) as lines:
        for line in lines:
            try:
                return type_of_line(line)
            except BadLine as bad:
                first_bad = first_bad or _error(lines, bad, line)
            if lines.offset > MAX_LINE_BYTES:
                break
    raise first_bad or InputError(f"{path} is empty; expected one JSON object per line")


def validate(path: Path, event_type: type[Event]) -> int:
    """Read a file once to see whether all of it can be used, and count its events.

    Raises:
        InputError: for the first line that cannot, with file, line, field and what was expected.
    """
    return sum(1 for _ in read_events(path, event_type))


def read_events(path: Path, event_type: type[E], cut: Callable[[str], None] | None = None) -> Iterator[E]:
    """The events of a file, one at a time, outside of a flow.

    Args:
        cut: Told in a sentence when the last line breaks off, as a crash leaves it, and is passed over.

    Raises:
        InputError: for the first line that cannot be used, with file, line, field and what was expected.
    """
    decoder, order = LineDecoder(event_type), SegmentOrder()
    with LineReader(path) as lines:
        for line in lines:
            try:
                event = decoder.decode(line)
                order.check(event, lines.number)
            except BadLine as bad:
                if cut is None or not _is_cut(line, bad):
                    raise _error(lines, bad, line) from None
                cut(f"{path}, line {lines.number}: the file was cut there; all lines before it are used")
                return
            yield event


class JsonlSource(FixedPartitionedSource[E, JsonlPosition], Generic[E]):
    """The events of a file, in the order of its lines.

    Delivery: exactly once with recovery. The position in the file is part of the snapshot, and a resumed
    run reads on from there.

    Args:
        path: A regular file; it is not followed as it grows.
        event_type: What each line must hold; `event_type_of` finds it out.
        skip_bad: Put lines that cannot be used aside in ``<file>.rejected``, as they are, and read on.
        realtime: Hand over each event when its stream's clock says so: audio when its last sample was spoken,
            a partial when it arrived, a translation or caption when it was ready.
        batch_size: Events to hand over at once, at most.
        stop: When set, the source ends before its next batch.
        wait: Says whether it is to hand nothing over for now.

    Raises:
        InputError: while the flow runs, with file, line, field and what was expected.
    """

    def __init__(
        self,
        path: Path,
        event_type: type[E],
        *,
        skip_bad: bool = False,
        realtime: bool = False,
        batch_size: int = 64,
        stop: threading.Event | None = None,
        wait: Callable[[], bool] = lambda: False,
    ) -> None:
        self.path = path
        self.event_type = event_type
        self.skip_bad = skip_bad
        self.realtime = realtime
        self.batch_size = batch_size
        self.stop = stop or threading.Event()
        self.wait = wait
        #: Events that were handed over, in this run.
        self.handed = 0
        #: Lines that were put aside so far, in this run and those that it resumed.
        self.rejected = 0
        #: Of these, lines for which there was no room, in this run.
        self.not_kept = 0
        self._began: float | None = None

    def begin(self, clock_s: float) -> None:
        """Start the stream's clock; only the first call counts."""
        if self._began is None:
            self._began = time.monotonic() - clock_s

    def now(self) -> float:
        """The present on the stream's clock, in seconds; 0 until the first event is asked for."""
        return 0.0 if self._began is None else time.monotonic() - self._began

    @property
    def rejected_path(self) -> Path:
        """Where lines are put aside."""
        return self.path.with_name(self.path.name + ".rejected")

    @override
    def list_parts(self) -> list[str]:
        return [ONE_FILE]

    @override
    def build_part(
        self, step_id: str, for_part: str, resume_state: JsonlPosition | None
    ) -> "_JsonlPartition[E]":
        return _JsonlPartition(self, resume_state or JsonlPosition())


class _JsonlPartition(StatefulSourcePartition[E, JsonlPosition], Generic[E]):
    def __init__(self, source: JsonlSource[E], position: JsonlPosition) -> None:
        self._source = source
        self._clock_s = position.clock_s
        self._decoder = LineDecoder(source.event_type)
        self._order = SegmentOrder(position.segments)
        self._rejects = Rejects(source.rejected_path, position.rejected_bytes) if source.skip_bad else None
        self._lines = LineReader(source.path, position.offset, position.line)
        self._awake: datetime | None = None
        source.rejected = position.rejected

    @override
    def next_batch(self) -> list[E]:
        if self._source.stop.is_set():
            raise StopIteration
        self._source.begin(self._clock_s)
        self._awake = None
        batch: list[E] = []
        if self._source.wait():
            self._awake = ALWAYS_DUE
            nap(_BREATH_S)
            return batch
        while len(batch) < self._source.batch_size:
            line = self._lines.read()
            if not line:
                if batch:
                    break
                raise StopIteration
            try:
                event = self._decoder.decode(line)
                if self._source.realtime and self._must_wait(event):
                    # It was only a look ahead: the line is read again when the event is due.
                    self._lines.unread()
                    if not batch:
                        nap(_due_s(event) - self._source.now())
                    break
                self._order.check(event, self._lines.number)
                batch.append(event)
            except BadLine as bad:
                self._reject(line, bad)
        self._source.handed += len(batch)
        return batch

    def _must_wait(self, event: E) -> bool:
        wait_s = _due_s(event) - self._source.now()
        if wait_s <= 0:
            return False
        self._awake = ALWAYS_DUE
        return True

    def _reject(self, line: bytes, bad: BadLine) -> None:
        if self._rejects is None:
            raise _error(self._lines, bad, line) from None
        self._source.rejected += 1
        self._source.not_kept += not self._rejects.write(chain([line], self._lines.rest()))

    @override
    def next_awake(self) -> datetime | None:
        return self._awake

    @override
    def snapshot(self) -> JsonlPosition:
        return JsonlPosition(
            offset=self._lines.offset,
            line=self._lines.number,
            rejected=self._source.rejected,
            rejected_bytes=self._rejects.size if self._rejects else 0,
            clock_s=max(self._clock_s, self._source.now()),
            segments=self._order.snapshot(),
        )

    @override
    def close(self) -> None:
        self._lines.close()


def _due_s(event: Event) -> float:
    """When an event happened on its stream's clock; a measurement has no time of its own."""
    match event:
        case AudioChunk():
            return event.start_s + event.duration_s
        case Partial():
            return event.arrival_s
        case Translation() | Caption():
            return event.ready_s
        case _:
            return 0.0


def _is_cut(line: bytes, bad: BadLine) -> bool:
    """Whether it is a last line of which only the beginning was written."""
    return not line.endswith(b"\n") and not bad.is_json


def _error(lines: LineReader, bad: BadLine, line: bytes) -> InputError:
    what_to_do = "; the file was cut there: remove that line, or use --skip-bad" if _is_cut(line, bad) else ""
    return InputError(f"{lines.path}, line {lines.number}: {bad}{what_to_do}")
