"""What a backlog has to know of a file of records, and what a sink's snapshot says of it."""

from typing import Generic, Protocol, TypeVar

import msgspec

from operators.events import Event
from operators.missing import Span
from operators.subtitles.timing import Cue

#: The partition of a source or sink of one file. Not its path: a folder may be renamed before a run goes on.
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
        """How far it is written, as its sink resumes from it."""

    def begin(self) -> None:
        """Make ready for records, and make the file again where it was deleted."""

    def append(self, record: R) -> None:
        """Write one record, or nothing of it."""

    def size_of(self, record: R) -> int:
        """Bytes that a record takes, more or less."""

    def sync(self) -> None:
        """Make sure that what was written survives a crash of the machine."""

    def cut_back(self, position: P) -> None:
        """Remove what was written after a position; never raises."""

    def close(self) -> None:
        """Close the file; never raises."""


class Held(msgspec.Struct, Generic[T, P], frozen=True):
    """The resume state of a sink: what is in its file, what waits for it, and what it will never have."""

    position: P
    waiting: tuple[T, ...] = ()
    lost: Span = Span()
    reason: str = ""
