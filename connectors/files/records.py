"""What a backlog writes to: the interface of a file of records, one of lines, and the state in a snapshot."""

from collections.abc import Callable
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import msgspec

from connectors.files.output import OutputFile
from operators.events import Event
from operators.notifications import Span
from operators.subtitles.timing import Cue

#: The partition of a source or sink of one file. Not its path: a folder may be renamed before a run resumes.
ONE_FILE = "file"

T = TypeVar("T", bound=Event | Cue)
R = TypeVar("R", bound=Event | Cue, contravariant=True)
P = TypeVar("P")


class RecordFile(Protocol[R, P]):
    """A file of records. Each method raises `WriteError` when it cannot be written for now."""

    path: str

    @property
    def deletions(self) -> int:
        """How often the file was found deleted or truncated, with the loss of its contents."""

    @property
    def position(self) -> P:
        """The position from which its sink resumes."""

    def begin(self) -> None:
        """Prepare for records, and create the file again if it was deleted."""

    def append(self, record: R) -> None:
        """Write one record completely or not at all."""

    def size_of(self, record: R) -> int:
        """Approximate size of a record in bytes."""

    def sync(self) -> None:
        """Make sure that what was written survives a crash of the machine."""

    def cut_back(self, position: P, /) -> None:
        """Remove what was written after a position; never raises."""

    def close(self) -> None:
        """Close the file; never raises."""


class Held(msgspec.Struct, Generic[T, P], frozen=True):
    """The resume state of a sink: what its file holds, what waits for it, and what was lost."""

    position: P
    waiting: tuple[T, ...] = ()
    lost: Span = Span()
    reason: str = ""


class LinesFile(OutputFile, Generic[T]):
    """A file in which each record is one line, or none.

    Args:
        size: Number of bytes to keep of it.
        file: Descriptor of the file if it is already open and locked; closed with this object.
        encode: Returns the line of a record including its newline; empty for a record without one.

    Raises:
        WriteError: from every method, when the file cannot be written for now.
        OutputError: when the file has become shorter than ``size``.
    """

    def __init__(self, path: Path, size: int, file: int | None, encode: Callable[[T], bytes]) -> None:
        super().__init__(path, size, file)
        self.path = str(path)
        self._encode = encode
        # Set if somebody else has cut off the end of the last line, so that ours does not become part of it.
        self._lacks_newline = False

    @property
    def position(self) -> int:
        """Size of the file in bytes."""
        return self.size

    def begin(self) -> None:
        """Create the file again if it was deleted."""
        size = self.size
        self.reopen()
        if self.size != size:
            self._lacks_newline = self.breaks_off

    def append(self, record: T) -> None:
        """Write one line."""
        line = self._encode(record)
        if line:
            self.write(b"\n" + line if self._lacks_newline else line)
            self._lacks_newline = False

    def size_of(self, record: T) -> int:
        """Bytes of the record's line."""
        return len(self._encode(record))
