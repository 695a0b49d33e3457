"""The events that flow between the stages: the glossary of the project.

Each event is a frozen struct, and one JSON object per line on disk. A file of events can replace the stage
that makes them. Written events name their type in the field ``event``; events from other programs may omit
it, and are then recognised by their fields.

That name is also the version: ``caption`` is the first one. New fields are optional, so older files stay
readable. A change that an older reader would misread gets a new name, such as ``caption/2``. Readers refuse
unknown names.

Times are seconds. ``*_s`` on a stream's clock counts from the first audio sample of that stream.
"""

from typing import Annotated, Any

import msgspec

from operators.model_errors import ErrorKind

#: Samples per second of every `AudioChunk`.
SAMPLE_RATE = 16_000

#: Three hundred years: no stream lasts longer, and sums of values from files stay finite.
MAX_SECONDS = 1e10
#: Maximum of every count; a browser can represent it exactly, too.
MAX_COUNT = 2**53 - 1

Seconds = Annotated[float, msgspec.Meta(ge=0.0, le=MAX_SECONDS)]
#: Seconds that may be negative.
SignedSeconds = Annotated[float, msgspec.Meta(ge=-MAX_SECONDS, le=MAX_SECONDS)]
Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_COUNT)]
#: Tokens of one text.
Length = Annotated[int, msgspec.Meta(ge=0, le=10**9)]
#: An id in a model's vocabulary.
Token = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
#: One count divided by another.
Ratio = Annotated[float, msgspec.Meta(ge=0.0, le=float(MAX_COUNT))]


# The unit separator of ASCII: names of streams do not contain it.
_SEPARATOR = "\x1f"


def channel_of(stream: str, code: str) -> str:
    """The key of a stream's captions in the language ``code``; without a code, the stream itself."""
    return f"{stream}{_SEPARATOR}{code}" if code else stream


def parted(channel: str) -> tuple[str, str]:
    """The stream and the language's code of a `channel_of`; the code may be empty."""
    stream, separator, code = channel.rpartition(_SEPARATOR)
    return (stream, code) if separator else (channel, "")


#: Maximum characters of a speaker.
MAX_SPEAKER = 100
#: Who speaks: a name, or a number for a voice without a name ("1", "2", … in the order of their first words).
Speaker = Annotated[str, msgspec.Meta(max_length=MAX_SPEAKER)] | msgspec.UnsetType
#: Code of a language: ISO 639, perhaps with a script or region.
LanguageCode = Annotated[str, msgspec.Meta(max_length=20)] | msgspec.UnsetType


class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag=str.lower):
    """The base of all events: the stream to which they belong."""

    #: Name of the audio stream; unique within a run.
    stream: Annotated[str, msgspec.Meta(max_length=1000)]

    @property
    def key(self) -> str:
        """The routing key of the event's stream."""
        return self.stream


class SegmentEvent(Event, frozen=True, kw_only=True):
    """An event about one revision of one segment of a stream."""

    #: Number of the segment in its stream, in the order of speech. A recogniser numbers its segments 0, 1, 2,
    #: …; there are gaps where segments were joined.
    segment: Count
    #: Number of the update of this segment, counted from 0 by the recogniser.
    revision: Count
    #: True for the last update of the segment; exactly one per segment.
    is_final: bool
    #: Language of the captions, if their stream has captions in several languages; absent otherwise.
    language: LanguageCode = msgspec.UNSET
    #: Language of the speech, if several are spoken in the stream; absent otherwise.
    spoken: LanguageCode = msgspec.UNSET
    #: Who speaks; absent if unknown. A later update may correct it.
    speaker: Speaker = msgspec.UNSET

    @property
    def channel(self) -> str:
        """The key by which events are ordered and state is kept: the stream, or one of its languages."""
        return channel_of(self.stream, self.language) if self.language else self.stream

    @property
    def key(self) -> str:
        """The routing key of the event's segment, padded because keys are ordered as text."""
        return f"{self.channel}/{self.segment:06d}"


class AudioChunk(Event, frozen=True, kw_only=True, tag="audio"):
    """A short run of consecutive samples.

    Example:
        >>> from operators import AudioChunk
        >>> AudioChunk(stream="talk", start_s=0.0, pcm=bytes(3200)).duration_s
        0.1
    """

    #: Position of the first sample, on the stream's clock.
    start_s: Seconds
    #: 16 kHz mono samples, 16-bit signed little-endian; base64 on disk.
    pcm: bytes
    #: True for the stream's last chunk, which may hold no samples.
    is_last: bool = False
    #: True if no sound follows for now, for example because a speaker's connection is lost: the speech so far
    #: becomes final. Such a chunk may hold no samples.
    pauses: bool = False

    @property
    def duration_s(self) -> float:
        """The duration of the chunk in seconds."""
        return len(self.pcm) / (2 * SAMPLE_RATE)


class Partial(SegmentEvent, frozen=True, kw_only=True, omit_defaults=True):
    """A recogniser's hypothesis for the whole segment so far; it may revise any earlier hypothesis.

    The `sentences` stage turns partials of a recogniser's segments into partials of sentences. For all later
    stages, a segment is such a sentence; its number is that of its first segment.

    Example:
        >>> import msgspec
        >>> from operators import Partial
        >>> one = Partial(stream="talk", segment=0, revision=0, is_final=False, text="It was",
        ...               start_s=0.2, end_s=0.6, arrival_s=0.7)
        >>> msgspec.json.decode(msgspec.json.encode(one), type=Partial) == one
        True
    """

    #: Recognised text of the whole segment.
    text: str
    #: Start of the segment's speech, on the stream's clock.
    start_s: Seconds
    #: End of the speech that the hypothesis covers, on the stream's clock.
    end_s: Seconds
    #: When the hypothesis left the recogniser, on the stream's clock.
    arrival_s: Seconds
    #: True for a sentence, false for a recogniser's segment, which ends at a pause.
    is_sentence: bool = False
    #: True if the recogniser has ended all segments of the sentence: it may continue, but no word is revised.
    is_stable: bool = False
    # Partials from other programs may use ``language`` for the spoken language.
    language: LanguageCode = msgspec.field(name="caption_language", default=msgspec.UNSET)


class Effort(msgspec.Struct, frozen=True, kw_only=True):
    """The cost of one translation: the counts behind A/D, A/O and the cost model."""

    #: Draft tokens offered for verification.
    drafted: Count = 0
    #: Accepted draft tokens.
    accepted: Count = 0
    #: Tokens of the output decoded after the draft, without the stop token.
    decoded: Count = 0
    #: Tokens drafted from sources other than the last output.
    proposed: Count = 0
    #: Accepted tokens of these.
    taken: Count = 0
    #: Forward passes through the model.
    passes: Count = 0
    #: Tokens of the prompt (head, source and tail).
    prompt_tokens: Count = 0
    #: Prompt tokens that were still in the KV cache.
    prompt_reused: Count = 0
    #: Tokens of the last output that were kept in the KV cache although the prompt has changed.
    kept: Count = 0
    #: Tokens that the passes evaluated: new prompt tokens, the draft, proposals and decoded tokens.
    evaluated: Count = 0
    #: Forward passes through the draft model.
    draft_passes: Count = 0
    #: Seconds spent in the draft model's passes.
    draft_s: Seconds = 0.0
    #: Seconds spent in the forward passes of all models.
    model_s: Seconds = 0.0
    #: The share of ``model_s`` in the first passes, which evaluate the new part of the prompt.
    first_s: Seconds = 0.0
    #: Seconds spent in the translate stage, including the forward passes.
    total_s: Seconds = 0.0

    def __add__(self, other: "Effort") -> "Effort":
        """The total effort of two translations."""
        fields = self.__struct_fields__
        return Effort(**{name: getattr(self, name) + getattr(other, name) for name in fields})

    def with_total(self, total_s: float) -> "Effort":
        """The same effort for a stage that took ``total_s`` in all."""
        return msgspec.structs.replace(self, total_s=total_s)


class Translation(SegmentEvent, frozen=True, kw_only=True):
    """The translation of one hypothesis, with everything that later stages need to evaluate it.

    Example:
        >>> from operators import Translation
        >>> Translation(stream="talk", segment=0, revision=0, is_final=False, source="It was", text="Es war",
        ...             tokens=(1, 2), pieces=("Es", " war"), start_s=0.2, end_s=0.6, arrival_s=0.7,
        ...             ready_s=0.9).key
        'talk/000000'
    """

    #: The recognised text that was translated.
    source: str
    #: The translated text; always the concatenation of ``pieces``.
    text: str
    #: Token ids of the translation, in the vocabulary of the model that made it.
    tokens: tuple[Token, ...]
    #: The text of each token; empty for a token that ends inside a character.
    pieces: tuple[str, ...]
    # Copied from the `Partial`.
    start_s: Seconds
    end_s: Seconds
    arrival_s: Seconds
    #: When the model started on the update, on the stream's clock; absent in some files.
    started_s: Seconds | None = None
    #: When the translation was done, on the stream's clock.
    ready_s: Seconds
    #: Superseded updates of this segment since the previous translation; they were skipped.
    overtaken: Count = 0
    #: The cost of the translation.
    effort: Effort = Effort()
    #: The model's failure, if any; if it gave no answer, this is the translation of an earlier update.
    trouble: ErrorKind | None = None
    #: Copied from the `Partial`.
    is_stable: bool = False


class Caption(SegmentEvent, frozen=True, kw_only=True):
    """The part of one translation that a viewer sees.

    Example:
        >>> from operators import Caption
        >>> Caption(stream="talk", segment=0, revision=0, is_final=False, source="It was", shown="Es",
        ...         withheld=" war", start_s=0.2, end_s=0.6, arrival_s=0.7, ready_s=0.9).text
        'Es war'
    """

    #: The recognised text that was translated.
    source: str
    #: The displayed text.
    shown: str
    #: The tail of the translation that is withheld for now; ``shown + withheld`` is the whole translation.
    withheld: str
    # Copied from the `Translation`.
    start_s: Seconds
    end_s: Seconds
    arrival_s: Seconds
    started_s: Seconds | None = None
    ready_s: Seconds
    overtaken: Count = 0
    #: When the viewer could see it, on the stream's clock; absent if it was not displayed.
    shown_s: Seconds | None = None
    effort: Effort = Effort()
    trouble: ErrorKind | None = None
    #: Tokens that are withheld while words may be revised; absent in some files.
    mask_k: Count | None = None

    @property
    def text(self) -> str:
        """The whole translation, including the withheld tail."""
        return self.shown + self.withheld


_MOMENT = (
    "stream", "segment", "revision", "is_final", "language", "spoken", "speaker", "start_s", "end_s",
    "arrival_s",
)  # fmt: skip


# Events do not inherit these fields, because msgspec writes inherited ones first, and files keep the field
# order of the first version.
def moment_of(event: Partial | Translation | Caption) -> dict[str, Any]:
    """The fields that identify an update and its time, which the event of the next stage copies."""
    return {name: getattr(event, name) for name in _MOMENT}


class Erasure(msgspec.Struct, frozen=True, kw_only=True):
    """The erasure of one text, for one update and for all updates so far."""

    #: Tokens of the text.
    length: Length
    #: E(i): erased tokens of the previous text.
    erased: Length
    #: Normalised erasure of this segment so far: sum of E up to here, divided by ``length``.
    ne_segment: Ratio
    #: Normalised erasure of the stream so far, pooled over its segments.
    ne_stream: Ratio


class Latency(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of the delay from speech to caption, in seconds; docs/measuring.md explains each part."""

    #: From the end of the speech that a hypothesis covers until it left the recogniser.
    recogniser_s: SignedSeconds
    #: From then until the model started on it; absent in some files.
    queue_s: Seconds | None = None
    #: From then until its translation was done.
    model_s: Seconds | None = None
    #: From then until the viewer could see it; absent if it was not displayed.
    display_s: Seconds | None = None


class ErasureRecord(SegmentEvent, frozen=True, kw_only=True, tag="erasure"):
    """One line of the erasure log: how much one update rewrote, and how late it came.

    Example:
        >>> from pathlib import Path
        >>> from connectors.jsonl.files import read_events
        >>> from operators import ErasureRecord
        >>> sum(record.shown.erased for record in read_events(Path("log.jsonl"), ErasureRecord))
        0
    """

    #: Erasure of the whole translation.
    raw: Erasure
    #: Erasure of the shown text.
    shown: Erasure
    #: A/D: accepted draft tokens, divided by those offered; absent without a draft.
    accepted_over_drafted: Ratio | None = None
    #: A/O: accepted draft tokens, divided by the tokens of the output; absent if it is empty.
    accepted_over_output: Ratio | None = None
    #: Seconds from the end of the speech that the hypothesis covers until the caption was shown, or ready.
    latency_from_speech_s: SignedSeconds
    #: Seconds from the arrival of the hypothesis until the caption was shown, or ready.
    latency_from_arrival_s: Seconds
    #: The parts of these delays.
    latency: Latency | None = None
    #: Whether words of the shown text changed, not only punctuation.
    changes_words: bool = True
    #: Superseded updates of this segment since the previous record.
    overtaken: Count = 0
    effort: Effort = Effort()
    #: The model's failure, if any.
    trouble: ErrorKind | None = None
    #: How erasure was counted: tokenizer, aggregation, mask and version.
    signature: str


def happened_s(event: Event) -> float:
    """When an event happened on the clock of its stream; 0 for a measurement, which has no time."""
    match event:
        case AudioChunk():
            return event.start_s + event.duration_s
        case Partial():
            return event.arrival_s
        case Translation() | Caption():
            return event.ready_s
        case _:
            return 0.0
