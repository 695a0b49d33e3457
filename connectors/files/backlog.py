"""Keeps records while their file cannot be written, and counts those that had to be dropped.

A file that cannot be written, because its disk is full or its folder is gone, must not end the captions. Its
records wait here, up to `MAX_WAITING_BYTES`; beyond that, the oldest are lost. Every few seconds writing is
tried again. The file lacks whatever was lost or still waits when the run ends.
"""

from abc import abstractmethod
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Generic, Self

from bytewax.outputs import FixedPartitionedSink, StatefulSinkPartition
from typing_extensions import override

from connectors.files.output import WriteError, check_writable
from connectors.files.records import ONE_FILE, Held, P, RecordFile, T
from connectors.files.watch import OutputWatch
from operators.errors import OutputError
from operators.notifications import Missing, OutputChanged, Span

#: Maximum bytes of records waiting for one file: an hour of captions, two minutes of audio.
MAX_WAITING_BYTES = 4 * 2**20
#: Seconds between two attempts to write.
_RETRY_S = 3.0


class Backlog(StatefulSinkPartition[T, Held[T, P]], Generic[T, P]):
    """A sink's partition, which stands between the sink and its file.

    Args:
        watch: Notified of problems and recovery. Without it nothing is kept, and the first error is raised.
        held: The state from which a resumed run starts.
        now: Seconds on a monotonic clock.

    Raises:
        WriteError: from every method, without ``watch``, when the file cannot be written.
    """

    def __init__(
        self,
        target: RecordFile[T, P],
        watch: OutputWatch | None,
        held: Held[T, P] | None = None,
        now: Callable[[], float] = monotonic,
    ) -> None:
        self._target = target
        self._watch = watch
        self._now = now
        self._waiting = deque(held.waiting if held else ())
        self._waiting_bytes = sum(map(target.size_of, self._waiting))
        self._lost = held.lost if held else Span()
        self._reason = held.reason if held else ""
        #: What this process wrote that is on the disk.
        self._on_disk = Span()
        # Records written since the last sync, and the end of the file at that sync.
        self._unsynced: list[T] = []
        self._unsynced_bytes = 0
        self._synced = target.position
        self._is_lagging = self._overflows = False
        self._retry_at = 0.0
        self._leave: Callable[[], None] | None = None
        if watch is not None:
            self._leave = watch.watch(lambda: self.missing)

    @property
    def missing(self) -> Missing | None:
        """What the file lacks so far."""
        span = sum(map(Span.of, self._waiting), self._lost)
        return Missing(path=self._target.path, span=span, reason=self._reason) if span.records else None

    @property
    def waits(self) -> bool:
        """Whether records wait for the file."""
        return bool(self._waiting)

    def begun(self) -> Self:
        """Write what precedes all records, if possible, and return this object."""
        try:
            self._catch_up()
        except WriteError:
            # Nobody closes a sink whose construction failed.
            self._target.close()
            raise
        return self

    @override
    def write_batch(self, values: list[T]) -> None:
        """Write records, or keep them until they can be written."""
        self._waiting.extend(values)
        self._waiting_bytes += sum(map(self._target.size_of, values))
        self._catch_up_if_due()
        while self._waiting_bytes > MAX_WAITING_BYTES:
            self._lose(self._waiting.popleft())

    @override
    def snapshot(self) -> Held[T, P]:
        """What the file holds permanently, and what waits."""
        self._catch_up_if_due()
        try:
            self._sync()
        except WriteError as error:
            self._fail(error)
        return Held(self._target.position, tuple(self._waiting), self._lost, self._reason)

    @override
    def close(self) -> None:
        """Try once more and close the file without raising: Bytewax aborts the process on an error here."""
        with suppress(OutputError):
            if self._waiting:
                self._catch_up()
                self._sync()
        self._target.close()
        # Nobody writes them any more: that they are missing is all that is to be remembered.
        self._lost += sum(map(Span.of, self._waiting), Span())
        self._waiting.clear()
        self._waiting_bytes = 0
        if self._leave is not None and self.missing is None:
            self._leave()
            self._leave = None

    def _catch_up_if_due(self) -> None:
        if not self._is_lagging or self._now() >= self._retry_at:
            self._catch_up()

    def _catch_up(self) -> None:
        try:
            self._begin()
            while self._waiting:
                self._target.append(self._waiting[0])
                self._keep(self._waiting.popleft())
        except WriteError as error:
            self._fail(error)
        else:
            self._succeed()

    def _begin(self) -> None:
        deletions = self._target.deletions
        try:
            self._target.begin()
        finally:
            if self._target.deletions != deletions:
                self._start_over()

    def _keep(self, record: T) -> None:
        size = self._target.size_of(record)
        self._waiting_bytes -= size
        self._unsynced.append(record)
        self._unsynced_bytes += size
        if self._unsynced_bytes > MAX_WAITING_BYTES:
            self._sync()

    def _sync(self) -> None:
        try:
            self._target.sync()
        except WriteError:
            # A second sync would succeed although the data that the disk did not take is gone.
            self._target.cut_back(self._synced)
            self._take_back()
            raise
        self._on_disk = sum(map(Span.of, self._unsynced), self._on_disk)
        self._forget_unsynced()

    def _forget_unsynced(self) -> None:
        self._unsynced, self._unsynced_bytes, self._synced = [], 0, self._target.position

    def _take_back(self) -> None:
        self._waiting.extendleft(reversed(self._unsynced))
        self._waiting_bytes += self._unsynced_bytes
        self._forget_unsynced()

    def _start_over(self) -> None:
        self._take_back()
        self._lost += self._on_disk
        self._on_disk = Span()
        if self._lost.records:
            self._reason = "it was deleted or truncated during the run"
            self._report(
                f"{self._target.path} was deleted or truncated and is started again: it lacks {self._lost}",
                False,
            )

    def _lose(self, record: T) -> None:
        self._waiting_bytes -= self._target.size_of(record)
        self._lost += Span.of(record)
        if not self._overflows:
            self._overflows = True
            kept = f"{MAX_WAITING_BYTES // 2**20} MiB"
            path = self._target.path
            self._report(
                f"more than {kept} is waiting to be written to {path}: its oldest records are lost", True
            )

    def _report(self, sentence: str, is_late: bool) -> None:
        if self._watch is not None:
            self._watch.observe(OutputChanged(self._target.path, sentence, is_late))

    def _fail(self, error: WriteError) -> None:
        self._retry_at = self._now() + _RETRY_S
        if self._watch is None:
            # The following close must not write the records that the error was about.
            self._waiting.clear()
            raise error from None
        if not self._is_lagging or error.reason != self._reason:
            self._report(f"{error}, and the missing records will be written; captions continue", True)
        self._is_lagging, self._reason = True, error.reason

    def _succeed(self) -> None:
        if self._is_lagging:
            lacks = f"it lacks {self._lost}" if self._lost.records else "nothing is missing"
            self._report(f"{self._target.path} can be written again; {lacks}", False)
        self._is_lagging = self._overflows = False


class FileSink(FixedPartitionedSink[T, Held[T, P]], Generic[T, P]):
    """Writes records into one file; takes pairs of a key, which is ignored, and a record.

    One worker writes, however many there are, and no other run can write the file. Of a cluster, it is one of
    the first process. A resumed run truncates the file to its state at the snapshot.

    Args:
        path: The file; its contents are replaced.
        watch: Notified while the file cannot be written, and the flow continues; without it the flow ends.

    Raises:
        OutputError: when the file cannot be written: at once, if that can be known, or while the flow runs.
    """

    def __init__(self, path: Path, *, watch: OutputWatch | None = None) -> None:
        self.path = path
        self._watch = watch
        self._is_here = watch is None or watch.is_here
        if self._is_here:
            check_writable(path)

    @abstractmethod
    def open_file(self, position: P | None, file: int | None) -> RecordFile[T, P]:
        """Open the file at the position of an earlier run, or empty without one.

        Args:
            position: The position of the earlier run's file.
            file: Its descriptor if it is already open and locked.

        Raises:
            WriteError: when the file cannot be written for now.
            OutputError: when the file has become shorter than ``position``.
        """

    @override
    def list_parts(self) -> list[str]:
        return [ONE_FILE] if self._is_here else []

    @override
    def part_fn(self, item_key: str) -> int:
        return 0

    @override
    def build_part(self, step_id: str, for_part: str, resume_state: Held[T, P] | None) -> Backlog[T, P]:
        file = None if self._watch is None else self._watch.take(self.path)
        target = self.open_file(None if resume_state is None else resume_state.position, file)
        return Backlog(target, self._watch, resume_state).begun()
