"""Common base of sinks that write one file: one partition, which keeps records that cannot be written yet."""

from abc import abstractmethod
from pathlib import Path
from typing import Generic

from bytewax.outputs import FixedPartitionedSink
from typing_extensions import override

from connectors.files.backlog import Backlog
from connectors.files.output import check_writable
from connectors.files.records import ONE_FILE, Held, P, RecordFile, T
from connectors.files.watch import OutputWatch


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
