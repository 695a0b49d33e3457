"""A file that grows by lines, as a backlog wants it."""

from collections.abc import Callable
from pathlib import Path
from typing import Generic

from connectors.files.output import OutputFile
from connectors.files.records import T


class LinesFile(Generic[T]):
    """Each record is a line, or none.

    Args:
        path: The file.
        size: Bytes of it to keep.
        file: Its descriptor where it is open and locked already; closed with this one.
        encode: The line of a record with its newline; empty for a record that has none.

    Raises:
        WriteError: from every method, when the file cannot be written for now.
        OutputError: when it has become shorter than ``size``.
    """

    def __init__(self, path: Path, size: int, file: int | None, encode: Callable[[T], bytes]) -> None:
        self.path = str(path)
        self._encode = encode
        self._file = OutputFile(path, size, file)
        # Where somebody else has cut off the last line; ours must not become part of it.
        self._lacks_newline = False

    @property
    def position(self) -> int:
        """Bytes of the file."""
        return self._file.size

    @property
    def deletions(self) -> int:
        """How often it was found deleted or cut short, with all that it held."""
        return self._file.deletions

    def begin(self) -> None:
        """Make the file again where it was deleted."""
        size = self._file.size
        self._file.reopen()
        if self._file.size != size:
            self._lacks_newline = self._file.breaks_off

    def append(self, record: T) -> None:
        """Write one line."""
        line = self._encode(record)
        if line:
            self._file.write(b"\n" + line if self._lacks_newline else line)
            self._lacks_newline = False

    def size_of(self, record: T) -> int:
        """Bytes of its line."""
        return len(self._encode(record))

    def sync(self) -> None:
        """See that what was written survives when the machine goes down."""
        self._file.sync()

    def cut_back(self, position: int) -> None:
        """Forget what was written after a position; it raises nothing."""
        self._file.cut_back(position)

    def close(self) -> None:
        """Close the file; it raises nothing."""
        self._file.close()
