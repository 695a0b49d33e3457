"""The interface between a backlog and its file of records, and the state in a sink's snapshot."""

from typing import Generic, Protocol, TypeVar

import msgspec

from operators.events import Event
from operators.missing import Span
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

    def cut_back(self, position: P) -> None:
        """Remove what was written after a position; never raises."""

    def close(self) -> None:
        """Close the file; never raises."""


class Held(msgspec.Struct, Generic[T, P], frozen=True):
    """The resume state of a sink: what its file holds, what waits for it, and what was lost."""

    position: P
    waiting: tuple[T, ...] = ()
    lost: Span = Span()
    reason: str = ""
