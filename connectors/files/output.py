"""Files that a run writes: checked before it begins, and never left with half an item."""

import contextlib
import errno
import fcntl
import io
import os
import re
import stat
import sys
from pathlib import Path

from operators.errors import OutputError

_DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/(\d+)|/dev/std(?:out|err)")
_STANDARD = {"stdout": 1, "stderr": 2}
# Characters of a name that another name is made of: file systems allow 255 bytes, and four make a character.
_MAX_NAME = 50
_WHAT_TO_DO = {
    errno.ENOSPC: "free space on its disk",
    errno.EDQUOT: "free space in your quota",
    errno.EFBIG: "raise the limit on the size of files (ulimit -f)",
    errno.EIO: "check its disk",
    errno.EROFS: "check its disk, which is read-only",
    errno.ENOENT: "create its folder again",
    errno.ENOTDIR: "create its folder again",
    errno.EACCES: "allow it to be written",
    errno.EPERM: "allow it to be written",
    errno.EMFILE: "raise the limit on open files (ulimit -n)",
    errno.ENFILE: "raise the system's limit on open files (fs.file-max)",
    errno.ENXIO: "start a reader for it first",
    errno.ENODEV: "put a file in its place",
    errno.EISDIR: "remove the folder that is in its place",
    errno.EPIPE: "start a reader for it again",
    errno.EBUSY: "give each run its own files",
}

#: Standard streams that this process was started without; now they lead nowhere (`connectors.files.streams`).
absent_streams: set[int] = set()


class WriteError(OutputError):
    """A write failed but may succeed later.

    Attributes:
        reason: Why, in the system's words.
        what_to_do: What helps, in a few words.
    """

    def __init__(self, path: Path, error: OSError) -> None:
        # A pipe: the system says that there is no such device or address.
        self.reason = "nobody reads it" if error.errno == errno.ENXIO else error.strerror or str(error)
        self.what_to_do = _WHAT_TO_DO.get(error.errno or 0, "find out what is wrong with it")
        super().__init__(f"{path} cannot be written: {self.reason}; {self.what_to_do}")


def check_writable(path: Path) -> None:
    """Check whether a file can be written, without changing it.

    Raises:
        OutputError: when it cannot be written.
    """
    number = inherited(path)
    try:
        if number is not None:
            _check_descriptor(path, number)
        elif not path.exists():
            _check_folder(path)
        elif path.is_dir():
            raise OutputError(f"{path} cannot be written: it is a folder; name a file in it")
        elif path.is_socket():
            raise OutputError(f"{path} cannot be written: it is a socket; choose another file")
        elif not os.access(path, os.W_OK):
            raise OutputError(f"{path} cannot be written: no permission; choose another file")
    except OSError as error:
        raise WriteError(path, error) from None


def unfinished(path: Path) -> Path:
    """Where this process makes a file or folder before it gets its name, in the same folder."""
    return path.with_name(f".{path.name[:_MAX_NAME]}.{os.getpid()}.partial")


def make_folder(folder: Path) -> None:
    """Create ``folder`` for results, unless it exists. Raises `OutputError` if that is not possible."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"{folder}: this folder cannot be created ({error.strerror}); choose another one"
        ) from None


def _check_folder(path: Path) -> None:
    # A link may point to a file that does not exist yet.
    folder = Path(os.path.realpath(path)).parent
    if not folder.exists():
        raise OutputError(f"{path} cannot be written: there is no folder {folder}; create it first")
    if not folder.is_dir():
        raise OutputError(f"{path} cannot be written: {folder} is not a folder; choose another one")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OutputError(
            f"{path} cannot be written: no permission to create files in {folder}; choose another folder"
        )


def inherited(path: Path) -> int | None:
    """The descriptor of this process that ``/dev/stdout``, ``/dev/stderr`` or ``/dev/fd/3`` names; else None.

    What stands in the file behind it stays, and others may write to it: opening it again would overwrite it
    from the start.
    """
    name = _DESCRIPTOR.fullmatch(str(path))
    if name is None:
        return None
    number = int(name[1]) if name[1] else _STANDARD[path.name]
    try:
        # While a flow runs, descriptor 2 leads nowhere, to discard what native code writes to it.
        return sys.stderr.fileno() if number == 2 else number
    except (AttributeError, OSError, ValueError):
        return number


def _check_descriptor(path: Path, number: int) -> None:
    try:
        mode = fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE
        is_absent = number in absent_streams
    except OSError:
        is_absent = True
    if is_absent:
        raise OutputError(
            f"{path} cannot be written: this process was started without that descriptor; name a file"
        )
    if mode == os.O_RDONLY:
        raise OutputError(f"{path} cannot be written: it is open for reading only; name a file")


def open_to_write(path: Path) -> int:
    """Open a file, which is created if necessary, and return its descriptor; what it holds stays.

    Opening a pipe would wait until somebody reads it, perhaps for ever, and a Ctrl-C that only asks to stop
    would not end that.

    Raises:
        OSError: with ``ENXIO`` for a pipe that nobody reads.
    """
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o666)
    os.set_blocking(file, True)
    return file


def lock(file: int) -> None:
    """Prevent other runs from writing an open regular file until it is closed.

    Raises:
        OSError: with ``EBUSY`` when another process has locked it.
    """
    if not stat.S_ISREG(os.fstat(file).st_mode):
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise OSError(errno.EBUSY, "another run is writing to it") from None
    except OSError:
        # Some file systems have no locks; a run on one is not protected.
        return


def is_deleted(file: int, path: Path) -> bool:
    """Whether an open file no longer has a name, so that anything written to it is lost."""
    status = os.fstat(file)
    if status.st_nlink:
        return False
    # Some file systems do not count links.
    try:
        return not os.path.samestat(status, path.stat())
    except FileNotFoundError:
        return True


class OutputFile:
    """A file that grows by whole items, and can be truncated to an earlier size.

    Items are written to the file immediately. Pipes, devices and descriptors inherited by this process, such
    as standard output, are written as a stream. No other run can write a regular file at the same time.

    Args:
        size: Number of bytes to keep of it; absent to keep all of it.
        file: Descriptor of the file if it is already open and locked; closed with this object.

    Raises:
        WriteError: from every method, when the file cannot be written for now.
        OutputError: when the file has become shorter than ``size``.
    """

    def __init__(self, path: Path, size: int | None, file: int | None = None) -> None:
        self._path = path
        self._is_synced = True
        #: Size of a regular file; for anything else, the bytes written.
        self.size = size or 0
        #: How often somebody else deleted or truncated it, with the loss of its contents.
        self.deletions = 0
        # Whether the file may contain more than `size` bytes.
        self._is_ragged = False
        try:
            self._open(file)
            if self.is_regular:
                there = os.fstat(self._file.fileno()).st_size
                if size is not None and there < size:
                    self._file.close()
                    raise OutputError(
                        f"{path} has become shorter since the run being resumed; start a new run"
                    )
                self.size = there if size is None else size
                self._is_ragged = self.size < there
                self._trim()
        except OSError as error:
            raise WriteError(path, error) from None

    def _open(self, held: int | None = None) -> None:
        number = inherited(self._path) if held is None else None
        if held is not None:
            file = held
        elif number is None:
            file = open_to_write(self._path)
        else:
            file = os.dup(number)
        # Unbuffered: otherwise buffered data would be written, and could fail, on closing.
        self._file = io.FileIO(file, "w")
        #: Whether it has a size and can be truncated.
        self.is_regular = number is None and stat.S_ISREG(os.fstat(file).st_mode)
        if self.is_regular and held is None:
            try:
                lock(file)
            except OSError:
                self._file.close()
                raise

    def reopen(self) -> None:
        """Check that the file is still there, and create it again if it was deleted.

        If somebody has put another file in its place, items are appended to that one. A file that somebody
        has truncated, as ``logrotate`` does with ``copytruncate``, is started anew.
        """
        try:
            if not self._file.closed:
                if not self.is_regular:
                    return
                if not is_deleted(self._file.fileno(), self._path):
                    self._start_over_if_cut()
                    return
                # A deleted file takes up space as long as it is open.
                self._file.close()
                self.size, self._is_ragged, self._is_synced = 0, False, True
                self.deletions += not (self._path.is_file() and self._path.stat().st_size)
            self._open()
            self.size = os.fstat(self._file.fileno()).st_size if self.is_regular else 0
        except OSError as error:
            raise WriteError(self._path, error) from None

    def _start_over_if_cut(self) -> None:
        if os.fstat(self._file.fileno()).st_size < self.size:
            # Writing beyond the end would leave a hole of zeros, preceded by half an item.
            self.size, self._is_ragged = 0, True
            self.deletions += 1
            self._trim()

    def write(self, items: bytes) -> None:
        """Write whole items; if there is no room for all of them, a regular file keeps none."""
        self._is_synced = False
        left = memoryview(items)
        try:
            if self.is_regular:
                self._trim()
                self._file.seek(self.size)
                self._is_ragged = True
            while left:
                left = left[self._file.write(left) :]
        except OSError as error:
            if self.is_regular:
                with contextlib.suppress(OSError):
                    self._trim()
            raise WriteError(self._path, error) from None
        self._is_ragged = False
        self.size += len(items)

    def cut_back(self, size: int) -> None:
        """Remove everything after ``size`` bytes; if that fails now, it is done before the next write."""
        self.size, self._is_ragged = size, True
        # It may have been deleted and closed.
        with contextlib.suppress(OSError, ValueError):
            self._trim()

    def _trim(self) -> None:
        if self._is_ragged:
            self._file.truncate(self.size)
            self._is_ragged = False

    def sync(self) -> None:
        """Make sure that what was written survives a crash of the machine."""
        try:
            if self.is_regular and not self._is_synced:
                os.fsync(self._file.fileno())
                self._is_synced = True
        except OSError as error:
            raise WriteError(self._path, error) from None

    @property
    def breaks_off(self) -> bool:
        """Whether the last line of a regular file is incomplete."""
        if not self.is_regular or not self.size:
            return False
        try:
            with self._path.open("rb") as file:
                file.seek(self.size - 1)
                return file.read(1) != b"\n"
        except OSError:
            # It may be written, but not read, or is gone again: an empty line does no harm, half a line does.
            return True

    def close(self) -> None:
        """Close the file without raising."""
        # Bytewax aborts the process if closing fails while another error is being raised. No loss is hidden:
        # the last snapshot has checked that everything reached the disk.
        with contextlib.suppress(OSError):
            self._file.close()
