"""Notifications about a run for its observers: one type for each kind of event. Pure.

``at_s`` is always the time of the notification on the stream's clock, in seconds.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from operators.events import AudioChunk, Caption, ErasureRecord, Partial

if TYPE_CHECKING:
    # It takes numpy.
    from operators.models.pool import Usage


class Missing(Struct, frozen=True):
    """The records that a file or an address lacks at the end of a run, and why."""

    path: str
    records: int
    reason: str

    def __str__(self) -> str:
        records = "1 record" if self.records == 1 else f"{self.records} records"
        return f"{self.path} lacks {records}: {self.reason}"


class RunBegan(Struct, frozen=True):
    """Everything is ready: captions are expected from now on."""


class RunEnded(Struct, frozen=True):
    """No more captions will come; also sent after an error, and once by each worker."""


class LoadingBegan(Struct, frozen=True):
    """A model is being loaded; no captions are expected meanwhile. Several may load at once."""


class LoadingAt(Struct, frozen=True):
    #: The current step, in a few words.
    what: str
    #: The fraction that is done, from 0 to 1; None if unknown.
    fraction: float | None


class LoadingEnded(Struct, frozen=True):
    """A model is loaded, or failed to load."""


class ModelLoaded(Struct, frozen=True):
    #: Returns the state of its cache, on any thread and without waiting.
    usage: "Callable[[], Usage]"


class SoundHeard(Struct, frozen=True):
    chunk: AudioChunk
    at_s: float


class SoundLost(Struct, frozen=True):
    """More sound was lost: the total seconds so far with a device, and those without one."""

    lost_s: float = 0.0
    absent_s: float = 0.0


class SourceOpened(Struct, frozen=True):
    """A microphone or a broadcast delivers sound; sound waits while models are loaded."""


class SourceChanged(Struct, frozen=True):
    """A microphone or a broadcast disappeared or came back; the next sound means that it works."""

    #: Message for the user.
    sentence: str
    at_s: float


class RecordingAt(Struct, frozen=True):
    position_s: float
    #: Its length; infinite if the file does not contain it.
    duration_s: float


class RecordingTruncated(Struct, frozen=True):
    """A recording ended earlier than its header specifies."""

    #: Names the missing part, for the summary at the end of the run.
    sentence: str


class RecognizerChanged(Struct, frozen=True):
    """Something happened to a recogniser, on any thread; the next caption means that it works."""

    #: Message for the user.
    sentence: str


class SpeechCut(Struct, frozen=True):
    """A recogniser's text of a segment was cut, because the model found no end."""

    #: Names the segment for the user.
    sentence: str


class SoundRecognized(Struct, frozen=True):
    chunk: AudioChunk


class SpeechEnded(Struct, frozen=True):
    stream: str
    #: Number of its sentences; the final captions of some may still be to come.
    sentences: int


class PartialHeard(Struct, frozen=True):
    """An update of a sentence arrived; its caption will follow."""

    partial: Partial
    at_s: float


class MessageSkipped(Struct, frozen=True):
    """A message of the input's topic, or an event of a replayed file, was skipped."""

    #: Why: it is not a valid event, is a repetition, or its captions are in a language that the run lacks.
    kind: Literal["unusable", "repeated", "language"]
    #: The code of that language.
    language: str = ""


class CaptionShown(Struct, frozen=True):
    caption: Caption
    at_s: float


class UpdateMeasured(Struct, frozen=True):
    """The erasure and latency of a caption: the last event of an update."""

    record: ErasureRecord
    at_s: float


class OutputChanged(Struct, frozen=True):
    """An output of the run cannot be written, or an address accepts captions again."""

    path: str
    #: Message for the user.
    sentence: str
    #: Whether the output is incomplete.
    is_late: bool


Observed = (
    RunBegan
    | RunEnded
    | LoadingBegan
    | LoadingAt
    | LoadingEnded
    | ModelLoaded
    | SoundHeard
    | SoundLost
    | SourceOpened
    | SourceChanged
    | RecordingAt
    | RecordingTruncated
    | RecognizerChanged
    | SpeechCut
    | SoundRecognized
    | SpeechEnded
    | PartialHeard
    | MessageSkipped
    | CaptionShown
    | UpdateMeasured
    | OutputChanged
)


#: Takes an event; never blocks for long, never raises, and is thread-safe.
Observe = Callable[[Observed], None]
#: Called with the current step, in a few words, and the fraction that is done (0 to 1; None if unknown).
Progress = Callable[[str, float | None], None]


def silent(_what: str, _fraction: float | None) -> None:
    """Report nothing."""
