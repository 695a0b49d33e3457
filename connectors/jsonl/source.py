"""Reads events from files of JSON lines: one event per line, one type per file."""

import threading
import time
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, Generic

import msgspec
from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from typing_extensions import override

from connectors.files.output import WriteError
from connectors.files.sink import ONE_FILE, write_all
from connectors.jsonl.files import BadLine, E, EventReader
from connectors.messages import log_event
from connectors.pacing import ALWAYS_DUE, nap
from operators.errors import InputError
from operators.events import happened_s

# In real time, a file whose first event is due later than this was cut from a longer one.
_MAX_LEAD_S = 10.0
# Longer waits for the next event are logged.
_MAX_SILENT_S = 60.0


class JsonlPosition(msgspec.Struct, frozen=True):
    """The source's resume state."""

    #: Bytes whose events were delivered.
    offset: int = 0
    #: Position of the stream's clock in seconds, for real time.
    clock_s: float = 0.0


class JsonlSource(FixedPartitionedSource[E, JsonlPosition], Generic[E]):
    """The events of a file, in the order of its lines.

    Delivery: exactly once with recovery. The position in the file is part of the snapshot; a resumed run
    reads the file again and delivers what follows.

    Args:
        path: A regular file; lines appended later are not followed.
        event_type: The type of every line; `event_type_of` detects it.
        skip_bad: Copy unusable lines unchanged to ``<file>.rejected`` and continue.
        realtime: Deliver each event when its stream's clock reaches its time: audio when its last sample was
            spoken, a partial when it arrived, a translation or caption when it was ready. If the beginning of
            the recording is missing, the clock starts with the first event.
        batch_size: Maximum number of events to deliver at once.
        stop: When set, the source ends before its next batch.
        is_here: Whether this process has the file; False for all but the first one of a cluster.

    Raises:
        InputError: while the flow runs, with file, line and what was expected.
        OutputError: when unusable lines cannot be put aside.

    Example:
        >>> from bytewax import operators as op
        >>> from bytewax.dataflow import Dataflow
        >>> from bytewax.testing import TestingSink, run_main
        >>> from pathlib import Path
        >>> from connectors import JsonlSource
        >>> from operators import Partial
        >>> flow, partials = Dataflow("example"), []
        >>> source = JsonlSource(Path("partials.jsonl"), Partial)
        >>> op.output("out", op.input("in", flow, source), TestingSink(partials))
        >>> run_main(flow)
        >>> partials[0].revision
        0
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
        is_here: bool = True,
    ) -> None:
        self.path = path
        self.event_type = event_type
        self.skip_bad = skip_bad
        self.realtime = realtime
        self.batch_size = batch_size
        self.stop = stop or threading.Event()
        self.is_here = is_here
        #: Events delivered in this run.
        self.delivered = 0
        #: Lines rejected so far, in this run and in those that it resumed.
        self.rejected = 0
        self._began: float | None = None

    def begin(self, clock_s: float) -> None:
        """Start the stream's clock; only the first call counts."""
        if self._began is None:
            self._began = time.monotonic() - clock_s

    def now(self) -> float:
        """Current time on the stream's clock, in seconds; 0 until the first event is requested."""
        return 0.0 if self._began is None else time.monotonic() - self._began

    @property
    def rejected_path(self) -> Path:
        """The file of rejected lines."""
        return self.path.with_name(self.path.name + ".rejected")

    @override
    def list_parts(self) -> list[str]:
        return [ONE_FILE] if self.is_here else []

    @override
    def build_part(
        self, step_id: str, for_part: str, resume_state: JsonlPosition | None
    ) -> "_JsonlPartition[E]":
        return _JsonlPartition(self, resume_state or JsonlPosition())


class _JsonlPartition(StatefulSourcePartition[E, JsonlPosition], Generic[E]):
    def __init__(self, source: JsonlSource[E], position: JsonlPosition) -> None:
        self._source = source
        self._clock_s = position.clock_s
        self._lines = EventReader(source.path, source.event_type)
        self._rejects: BinaryIO | None = None
        self._offset = position.offset
        # An event that is not due yet.
        self._ahead: E | None = None
        self._awake: datetime | None = None
        self._has_begun = False
        # Line of the last wait that was logged.
        self._logged_line = 0
        source.rejected = 0
        if source.skip_bad:
            source.rejected_path.unlink(missing_ok=True)
        # Read again what was delivered before, for the order of segments and the rejected lines.
        while self._lines.offset < position.offset and self._read() is not None:
            pass
        if self._lines.offset != position.offset:
            self.close()
            raise InputError(f"{source.path} has changed since the run being resumed; start a new run")

    @override
    def next_batch(self) -> list[E]:
        if self._source.stop.is_set():
            raise StopIteration
        if not self._source.realtime:
            self._source.begin(self._clock_s)
        self._awake = None
        batch: list[E] = []
        while len(batch) < self._source.batch_size:
            event, self._ahead = self._ahead or self._read(), None
            if event is None:
                if batch:
                    break
                raise StopIteration
            if self._source.realtime and self._must_wait(event):
                self._ahead = event
                if not batch:
                    nap(happened_s(event) - self._source.now())
                break
            batch.append(event)
            self._offset = self._lines.offset
        self._source.delivered += len(batch)
        return batch

    def _must_wait(self, event: E) -> bool:
        due_s = happened_s(event)
        if not self._has_begun:
            self._begin(due_s)
        wait_s = due_s - self._source.now()
        if wait_s <= 0:
            return False
        self._awake = ALWAYS_DUE
        if wait_s > _MAX_SILENT_S and self._logged_line != self._lines.number:
            self._logged_line = self._lines.number
            sentence = f"the next event of {self._source.path} comes in {wait_s:,.0f} s, as in its recording"
            log_event("replay_waits", sentence, seconds=round(wait_s))
        return True

    def _begin(self, due_s: float) -> None:
        """Start the clock; a resumed run has begun already."""
        self._has_begun = True
        if self._clock_s == 0 and due_s > _MAX_LEAD_S:
            self._clock_s = due_s
            sentence = (
                f"{self._source.path} begins {due_s:,.0f} s into its recording and is played from there"
            )
            log_event("replay_begins_late", sentence, seconds=round(due_s))
        self._source.begin(self._clock_s)

    def _read(self) -> E | None:
        while True:
            try:
                return self._lines.read()
            except BadLine as bad:
                if not self._source.skip_bad:
                    raise self._lines.error(bad) from None
                self._reject(self._lines.line)

    def _reject(self, line: bytes) -> None:
        path = self._source.rejected_path
        try:
            self._rejects = self._rejects or path.open("wb")
            write_all(self._rejects.fileno(), line)
        except OSError as error:
            raise WriteError(path, error) from None
        self._source.rejected += 1

    @override
    def next_awake(self) -> datetime | None:
        return self._awake

    @override
    def snapshot(self) -> JsonlPosition:
        return JsonlPosition(offset=self._offset, clock_s=max(self._clock_s, self._source.now()))

    @override
    def close(self) -> None:
        self._lines.close()
        if self._rejects is not None:
            self._rejects.close()
