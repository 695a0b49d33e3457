"""Files that a run writes: whether they can be written, and how they are opened."""

import errno
import os
import re
import sys
from pathlib import Path

from operators.errors import OutputError

_DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/(\d+)|/dev/std(?:out|err)")
_STANDARD = {"stdout": 1, "stderr": 2}
# Characters kept of a name that is extended: file systems allow 255 bytes, and a character has up to four.
_MAX_NAME = 50


class WriteError(OutputError):
    """A file cannot be written, for a ``reason`` in the system's words."""

    def __init__(self, path: Path, error: OSError) -> None:
        # For a pipe without a reader, the system's message is "No such device or address".
        no_reader = "nobody reads it; start a reader for it first"
        self.reason = no_reader if error.errno == errno.ENXIO else error.strerror or str(error)
        super().__init__(f"{path} cannot be written: {self.reason}")


def check_writable(path: Path) -> None:
    """Check whether a file can be written, without changing it. Raises `OutputError` if not."""
    number = inherited(path)
    try:
        if number is not None:
            os.fstat(number)
        elif not path.exists():
            # A link may point to a file that does not exist yet.
            folder = Path(os.path.realpath(path)).parent
            if not folder.is_dir():
                raise OutputError(f"{path} cannot be written: there is no folder {folder}; create it first")
            if not os.access(folder, os.W_OK | os.X_OK):
                raise OutputError(
                    f"{path} cannot be written: no permission in {folder}; choose another folder"
                )
        elif path.is_dir():
            raise OutputError(f"{path} cannot be written: it is a folder; name a file in it")
        elif not os.access(path, os.W_OK):
            raise OutputError(f"{path} cannot be written: no permission; choose another file")
    except OSError as error:
        raise WriteError(path, error) from None


def unfinished(path: Path) -> Path:
    """The temporary path of a file or folder until it is complete, in the same folder."""
    return path.with_name(f".{path.name[:_MAX_NAME]}.{os.getpid()}.partial")


def make_folder(folder: Path) -> None:
    """Create ``folder`` for results, unless it exists. Raises `OutputError` if that is not possible."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"{folder}: this folder cannot be created ({error.strerror}); choose another one"
        ) from None


def inherited(path: Path) -> int | None:
    """The descriptor of this process that ``/dev/stdout``, ``/dev/stderr`` or ``/dev/fd/3`` names; else None.

    Others may write to the file behind it: opening it again would overwrite it from the start.
    """
    name = _DESCRIPTOR.fullmatch(path.as_posix())
    if name is None:
        return None
    number = int(name[1]) if name[1] else _STANDARD[path.name]
    try:
        # While a flow runs, descriptor 2 is redirected to discard what native code writes to it.
        return sys.stderr.fileno() if number == 2 else number
    except (AttributeError, OSError, ValueError):
        return number


def open_to_write(path: Path, *, at_end: bool = True) -> int:
    """Open a file for appending, or for writing anywhere, and create it if necessary; returns its descriptor.

    Raises:
        OSError: with ``ENXIO`` for a pipe that nobody reads: waiting for a reader could last for ever.
    """
    flags = os.O_WRONLY | os.O_CREAT | (os.O_APPEND if at_end else 0)
    if sys.platform == "win32":
        return os.open(path, flags | os.O_BINARY, 0o666)
    file = os.open(path, flags | os.O_NONBLOCK, 0o666)
    os.set_blocking(file, True)
    return file


def check_place(path: Path) -> None:
    """Raise `OutputError` if a file would replace a device, a pipe or standard output."""
    if (path.exists() and not path.is_file()) or inherited(path) is not None:
        raise OutputError(f"{path} cannot be written: a model needs a regular file; name one")
