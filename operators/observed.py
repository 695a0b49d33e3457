"""What happens during a run, as it is told to those who look on: one type for each kind of event. Pure.

``at_s`` is always the present on the stream's clock, in seconds, when the event was told.
"""

from collections.abc import Callable

from msgspec import Struct

from operators.events import AudioChunk, Caption, ErasureRecord, Partial
from operators.losses import Losses
from operators.models.open_sessions import Usage
from operators.trouble import Trouble


class RunBegan(Struct, frozen=True):
    """Everything is ready: from now on captions are owed."""


class RunEnded(Struct, frozen=True):
    """No more captions will come, also after an error; each worker says so."""


class LoadingBegan(Struct, frozen=True):
    """A model is being loaded; nothing is owed meanwhile. Several may be at once."""


class LoadingAt(Struct, frozen=True):
    """How far the loading of a model is."""

    #: What is being done, in a few words.
    what: str
    #: How much of it is done, from 0 to 1; None where nobody knows.
    fraction: float | None


class LoadingEnded(Struct, frozen=True):
    """A model is loaded, or could not be."""


class ModelLoaded(Struct, frozen=True):
    """The language model can be asked."""

    #: Gives what its cache holds, on any thread and without waiting.
    usage: Callable[[], Usage]


class SoundHeard(Struct, frozen=True):
    """A source handed over sound."""

    chunk: AudioChunk
    at_s: float


class SoundLost(Struct, frozen=True):
    """More sound was lost."""

    #: All that was lost so far.
    losses: Losses


class MicrophoneChanged(Struct, frozen=True):
    """A microphone has gone, or is back; the next sound says that it is there."""

    #: What happened, for the user.
    sentence: str
    at_s: float


class RecordingAt(Struct, frozen=True):
    """How far a recording is."""

    position_s: float
    #: Its length; infinite where the file does not tell it.
    duration_s: float


class RecordingTruncated(Struct, frozen=True):
    """A recording ended before its header said so."""

    #: What is missing of it, for the user when the run is over.
    sentence: str


class RecognizerChanged(Struct, frozen=True):
    """Something happened to a recogniser, on any thread; the next caption says that it works."""

    #: What happened, for the user.
    sentence: str


class PartialHeard(Struct, frozen=True):
    """A hypothesis came from a recogniser or a file, and now waits for its caption."""

    partial: Partial
    at_s: float


class RoomRefused(Struct, frozen=True):
    """There is no place for another live stream, on any worker."""

    #: Which one, and what to do, for the user.
    sentence: str


class ModelAnswered(Struct, frozen=True):
    """The language model was asked for a translation."""

    #: What was wrong with the answer; None for nothing.
    trouble: Trouble | None
    #: Which update it was, and more of what was wrong, for a person.
    why: str


class CaptionShown(Struct, frozen=True):
    """A caption is where viewers look."""

    caption: Caption
    at_s: float


class UpdateMeasured(Struct, frozen=True):
    """What a caption erased and how late it came: the last of an update."""

    record: ErasureRecord
    at_s: float


class OutputChanged(Struct, frozen=True):
    """A file of the run cannot be written for now, or is written again."""

    path: str
    #: What happened, for the user.
    sentence: str
    #: Whether something waits to be written.
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
    | MicrophoneChanged
    | RecordingAt
    | RecordingTruncated
    | RecognizerChanged
    | PartialHeard
    | RoomRefused
    | ModelAnswered
    | CaptionShown
    | UpdateMeasured
    | OutputChanged
)
