"""Notifications about a run for its observers: one type for each kind of event. Pure.

``at_s`` is always the time of the notification on the stream's clock, in seconds.
"""

from collections.abc import Callable
from typing import Literal, Self

import msgspec
from msgspec import Struct

from operators.events import AudioChunk, Caption, ErasureRecord, Event, Partial, SegmentEvent
from operators.models.pool import Usage
from operators.subtitles.timing import Cue


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """Some records: how many, and their first and last segment and time."""

    records: int = 0
    #: First and last segment, each as stream and number; absent if the records have no segments.
    first: tuple[str, int] | None = None
    last: tuple[str, int] | None = None
    #: Seconds of the stream, from the first speech to the last; absent if the records have no times.
    start_s: float | None = None
    end_s: float | None = None

    @classmethod
    def of(cls, record: Event | Cue) -> Self:
        """One record."""
        if isinstance(record, Cue):
            return cls(records=1, start_s=record.start_ms / 1000, end_s=record.end_ms / 1000)
        segment = (record.stream, record.segment) if isinstance(record, SegmentEvent) else None
        start_s: float | None = getattr(record, "start_s", None)
        end_s: float | None = getattr(record, "end_s", None)
        if isinstance(record, AudioChunk):
            end_s = record.start_s + record.duration_s
        return cls(records=1, first=segment, last=segment, start_s=start_s, end_s=end_s)

    def __add__(self, later: "Span") -> "Span":
        """These records and later ones."""
        starts = [at for at in (self.start_s, later.start_s) if at is not None]
        ends = [at for at in (self.end_s, later.end_s) if at is not None]
        return Span(
            records=self.records + later.records,
            first=self.first or later.first,
            last=later.last or self.last,
            start_s=min(starts, default=None),
            end_s=max(ends, default=None),
        )

    def __str__(self) -> str:
        """The number of records, their segments and their times."""
        where = []
        if self.first is not None and self.last is not None:
            (stream, number), (other, last) = self.first, self.last
            many = f"segment {number}" if self.first == self.last else f"segments {number} to {last}"
            # A name comes from outside; the code that prints it removes control sequences.
            where.append(f"{many} of {stream}" if stream == other else f"{stream}/{number} to {other}/{last}")
        if self.start_s is not None and self.end_s is not None:
            where.append(f"{self.start_s:.1f} s to {self.end_s:.1f} s")
        records = "1 record" if self.records == 1 else f"{self.records} records"
        return f"{records} ({', '.join(where)})" if where else records


class Missing(msgspec.Struct, frozen=True, kw_only=True):
    """What one file lacks at the end of a run, and why."""

    path: str
    span: Span
    reason: str

    def __str__(self) -> str:
        """As part of a sentence."""
        return f"{self.path} lacks {self.span}: {self.reason}"


class RunBegan(Struct, frozen=True):
    """Everything is ready: captions are expected from now on."""


class RunEnded(Struct, frozen=True):
    """No more captions will come; also sent after an error, and once by each worker."""


class LoadingBegan(Struct, frozen=True):
    """A model is being loaded; no captions are expected meanwhile. Several may load at once."""


class LoadingAt(Struct, frozen=True):
    """The progress of loading a model."""

    #: The current step, in a few words.
    what: str
    #: The fraction that is done, from 0 to 1; None if unknown.
    fraction: float | None


class LoadingEnded(Struct, frozen=True):
    """A model is loaded, or failed to load."""


class ModelLoaded(Struct, frozen=True):
    """The language model is ready for requests."""

    #: Returns the state of its cache, on any thread and without waiting.
    usage: Callable[[], Usage]


class SoundHeard(Struct, frozen=True):
    """A source delivered sound."""

    chunk: AudioChunk
    at_s: float


class SoundLost(Struct, frozen=True):
    """More sound was lost: all seconds so far while there was a device, and those without one."""

    lost_s: float = 0.0
    absent_s: float = 0.0


class SourceChanged(Struct, frozen=True):
    """A microphone or a broadcast disappeared or came back; the next sound means that it works."""

    #: What happened, for the user.
    sentence: str
    at_s: float


class RecordingAt(Struct, frozen=True):
    """The position in a recording."""

    position_s: float
    #: Its length; infinite if the file does not say.
    duration_s: float


class RecordingTruncated(Struct, frozen=True):
    """A recording ended earlier than its header says."""

    #: What is missing, told to the user at the end of the run.
    sentence: str


class RecognizerChanged(Struct, frozen=True):
    """Something happened to a recogniser, on any thread; the next caption means that it works."""

    #: What happened, for the user.
    sentence: str


class SpeechCut(Struct, frozen=True):
    """A recogniser's text of a segment was cut, because the model found no end."""

    #: Which one, for the user.
    sentence: str


class SoundRecognized(Struct, frozen=True):
    """A recogniser has processed a chunk of sound."""

    chunk: AudioChunk


class SpeechEnded(Struct, frozen=True):
    """A stream is over."""

    stream: str
    #: Number of its sentences; each has had its final caption, or will get it.
    sentences: int


class PartialHeard(Struct, frozen=True):
    """An update of a sentence came, and now waits for its caption."""

    partial: Partial
    at_s: float


class MessageSkipped(Struct, frozen=True):
    """A message of the input's topic was not used, or an event of a file that is replayed."""

    #: Why not: it is no valid event, it came before, or its captions are in a language that the run has not.
    kind: Literal["unusable", "repeated", "language"]
    #: The code of that language.
    language: str = ""


class CaptionShown(Struct, frozen=True):
    """A caption is visible to viewers."""

    caption: Caption
    at_s: float


class UpdateMeasured(Struct, frozen=True):
    """What a caption erased and how late it came: the last event of an update."""

    record: ErasureRecord
    at_s: float


class OutputChanged(Struct, frozen=True):
    """An output file of the run cannot be written for now, or can be written again."""

    path: str
    #: What happened, for the user.
    sentence: str
    #: Whether data is waiting to be written.
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
