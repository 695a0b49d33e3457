"""Files that a run writes: refused before it begins if they cannot be, and never left with half an item."""

import contextlib
import io
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from operators.errors import OutputError


def check_writable(path: Path, *, reading: Iterable[Path] = ()) -> None:
    """See whether a file can be written, without touching it.

    :arg reading: The files that the same run reads.
    :raises OutputError: when it cannot be written, or is one of those.
    """
    try:
        if not path.exists():
            _check_folder(path)
        elif path.is_dir():
            raise OutputError(f"{path} cannot be written: it is a folder")
        elif not os.access(path, os.W_OK):
            raise OutputError(f"{path} cannot be written: no permission")
        if any(_is_same(path, other) for other in reading):
            raise OutputError(f"{path} cannot be written: the same run reads it; choose another file")
    except OSError as error:
        raise _error(path, error) from None


def _check_folder(path: Path) -> None:
    # A link may point to a file that is yet to be made.
    folder = Path(os.path.realpath(path)).parent
    if not folder.exists():
        raise OutputError(f"{path} cannot be written: there is no folder {folder}")
    if not folder.is_dir():
        raise OutputError(f"{path} cannot be written: {folder} is not a folder")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OutputError(f"{path} cannot be written: no permission to make files in {folder}")


def _is_same(path: Path, other: Path) -> bool:
    if path.exists() and other.exists():
        return path.samefile(other)
    return os.path.realpath(path) == os.path.realpath(other)


class OutputFile:
    """A file that grows by whole items, and can be cut back to where it was.

    What was written reached the file at once. A pipe or a device is written as it comes.

    :arg path: The file.
    :arg size: Bytes of it to keep; absent to keep all of it.
    :raises OutputError: from every method, when the file cannot be written.
    """

    def __init__(self, path: Path, size: int | None) -> None:
        self._path = path
        self._is_synced = True
        #: Bytes of a regular file; of anything else, bytes that were written.
        self.size = 0
        try:
            # Unbuffered: nothing is left behind that would be written, and fail, on closing.
            self._file = io.FileIO(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666), "w")
            status = os.fstat(self._file.fileno())
            self._is_regular = stat.S_ISREG(status.st_mode)
            if self._is_regular:
                if size is not None and status.st_size < size:
                    self._file.close()
                    raise OutputError(f"{path} has become shorter since the run that is resumed; start anew")
                self._begin_at(status.st_size if size is None else size)
        except OSError as error:
            raise _error(path, error) from None

    def _begin_at(self, size: int) -> None:
        self._file.truncate(size)
        self.size = self._file.seek(size)

    def write(self, items: bytes) -> None:
        """Write whole items; when not all of them find room, a regular file keeps none."""
        self._is_synced = False
        left = memoryview(items)
        try:
            while left:
                left = left[self._file.write(left) :]
        except OSError as error:
            if self._is_regular:
                with contextlib.suppress(OSError):
                    self._begin_at(self.size)
            raise _error(self._path, error) from None
        self.size += len(items)

    def sync(self) -> None:
        """See that what was written survives when the machine goes down."""
        try:
            if self._is_regular and not self._is_synced:
                os.fsync(self._file.fileno())
                self._is_synced = True
        except OSError as error:
            raise _error(self._path, error) from None

    @property
    def breaks_off(self) -> bool:
        """Whether the last line of a regular file lacks its newline."""
        if not self._is_regular or not self.size:
            return False
        with self._path.open("rb") as file:
            file.seek(self.size - 1)
            return file.read(1) != b"\n"

    def close(self) -> None:
        """Close the file, in silence."""
        # Bytewax aborts the process when closing fails while another error is on its way. Nothing is
        # lost by silence: the last snapshot has seen whether all of it reached the disk.
        with contextlib.suppress(OSError):
            self._file.close()


def _error(path: Path, error: OSError) -> OutputError:
    return OutputError(f"{path} cannot be written: {error.strerror}")
