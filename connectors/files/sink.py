"""Files of records: each record is written whole and immediately, exactly once with recovery."""

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Generic, TypeVar

import msgspec
from bytewax.outputs import FixedPartitionedSink, StatefulSinkPartition
from typing_extensions import override

from connectors.files.output import WriteError, check_writable, inherited, open_to_write
from connectors.files.watch import OutputWatch
from operators.errors import OutputError
from operators.events import Event
from operators.subtitles.timing import Cue

#: The partition of a source or sink of one file. Not its path: a folder may be renamed before a run resumes.
ONE_FILE = "file"

T = TypeVar("T", bound=Event | Cue)


class FileState(msgspec.Struct, frozen=True):
    """The resume state of a file: its bytes and records, and the records that it lacks."""

    size: int = 0
    records: int = 0
    lost: int = 0
    reason: str = ""
    #: The last speaker, in a file that names speakers.
    speaker: str = ""


class FilePartition(StatefulSinkPartition[T, FileState], Generic[T]):
    """Writes records to the end of a file, which is opened with the first of them or by `open`.

    ``state`` says how much of the file is kept; the other arguments are those of `FileSink`.
    """

    _is_written_at_end = True

    def __init__(
        self,
        path: Path,
        encode: Callable[[T, int], bytes],
        header: bytes = b"",
        state: FileState | None = None,
        watch: OutputWatch | None = None,
    ) -> None:
        state = state or FileState()
        self.path = path
        self.size, self._records = state.size, state.records
        self._encode, self._header, self._watch = encode, header, watch
        self._lost, self._reason = state.lost, state.reason
        if watch is not None and state.lost:
            watch.lose(str(path), state.lost, state.reason)
        self._file: int | None = None
        self._is_regular = False
        #: The records at the last snapshot, which are on the disk.
        self._synced = self._records

    def open(self) -> None:
        """Open the file, and truncate it to its state.

        Raises:
            OSError: when it cannot be written.
        """
        if self._file is not None:
            return
        number = inherited(self.path)
        at_end = self._is_written_at_end
        file = open_to_write(self.path, at_end=at_end) if number is None else os.dup(number)
        try:
            self._is_regular = number is None and stat.S_ISREG(os.fstat(file).st_mode)
            if self._is_regular:
                self.size = min(self.size, os.fstat(file).st_size)
                self.truncate(file)
            if not self.size and self._header:
                write_all(file, self._header)
                self.size = len(self._header)
        except BaseException:
            os.close(file)
            raise
        self._file = file

    @override
    def write_batch(self, values: list[T]) -> None:
        for record in values:
            try:
                self.open()
                assert self._file is not None
                self._records += self.append(self._file, record)
            except OSError as error:
                if self._file is not None and self._is_regular:
                    with suppress(OSError):
                        self.truncate(self._file)
                self._lose(error, 1)

    def append(self, file: int, record: T) -> bool:
        """Write a record to an open file; returns whether there was something to write."""
        data = self._encode(record, self._records + 1)
        write_all(file, data)
        self.size += len(data)
        return bool(data)

    def truncate(self, file: int) -> None:
        """Remove what follows ``size`` bytes of an open regular file."""
        os.ftruncate(file, self.size)

    @override
    def snapshot(self) -> FileState:
        unsynced, self._synced = self._records - self._synced, self._records
        try:
            if self._file is not None and self._is_regular and unsynced:
                os.fsync(self._file)
        except OSError as error:
            # A second attempt would succeed although the data may be gone.
            self._lose(error, unsynced)
        return FileState(self.size, self._records, self._lost, self._reason)

    @override
    def close(self) -> None:
        """Close the file without raising: Bytewax aborts the process on an error here."""
        file, self._file = self._file, None
        if file is not None:
            with suppress(OSError):
                os.close(file)

    def _lose(self, error: OSError, records: int) -> None:
        failure = WriteError(self.path, error)
        if self._watch is None:
            raise failure from None
        self._lost += records
        self._reason = failure.reason
        self._watch.lose(str(self.path), records, failure.reason)


def write_all(file: int, data: bytes, at: int | None = None) -> None:
    """Write all of the data to an open file, at the current position or at an offset."""
    if at is not None:
        os.lseek(file, at, os.SEEK_SET)
    left = memoryview(data)
    while left:
        left = left[os.write(file, left) :]


class FileSink(FixedPartitionedSink[T, FileState], Generic[T]):
    """Writes each record to the end of a file; takes pairs of a key, which is ignored, and a record.

    Only one worker writes; in a cluster, it belongs to the first process. A record that cannot be written is
    counted as lost, and the flow continues.

    Delivery: exactly once with recovery into a regular file, which a resumed run truncates to its size at the
    snapshot; best effort into a pipe or a device.

    Args:
        path: The file; its contents are replaced.
        encode: Returns the bytes of a record, given its number from 1; empty for a record that is left out.
        header: What precedes the first record.
        watch: Notified of lost records; without it, a failed write ends the flow.

    Raises:
        OutputError: when the file cannot be written: at once, if that can be known, or while the flow runs.
    """

    def __init__(
        self,
        path: Path,
        encode: Callable[[T, int], bytes],
        *,
        header: bytes = b"",
        watch: OutputWatch | None = None,
    ) -> None:
        self.path = path
        self._encode, self._header, self._watch = encode, header, watch
        self._is_here = watch is None or watch.is_here
        if self._is_here:
            check_writable(path)

    def partition(self, state: FileState | None) -> FilePartition[T]:
        """The file, not yet open."""
        return FilePartition(self.path, self._encode, self._header, state, self._watch)

    @override
    def list_parts(self) -> list[str]:
        return [ONE_FILE] if self._is_here else []

    @override
    def part_fn(self, item_key: str) -> int:
        return 0

    @override
    def build_part(self, step_id: str, for_part: str, resume_state: FileState | None) -> FilePartition[T]:
        partition = self.partition(resume_state)
        try:
            partition.open()
        except OSError as error:
            raise WriteError(self.path, error) from None
        if resume_state is not None and partition.size < resume_state.size:
            partition.close()
            raise OutputError(f"{self.path} has become shorter since the run being resumed; start a new run")
        return partition
