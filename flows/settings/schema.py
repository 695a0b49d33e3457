"""The schema of the settings: one frozen struct per stage, all in one TOML file, no global state.

The comment above a setting is its description on the settings page.
"""

from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, field

from connectors.http.access import LOCAL
from connectors.messages import Format
from connectors.sinks.part import SINKS, SinkPart, asked_in
from flows.settings.translate import NotNegative, TranslateSettings
from operators.masking import MaskRule
from operators.recognizers.azure import AzureSettings
from operators.recognizers.part import RecognizerSettings
from operators.secret import Secret
from operators.sentences.joining import Bounds
from operators.subtitles.writer import Shown
from operators.voices.settings import SpeakersSettings

#: Name of a topic, as Kafka allows it.
Topic = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9._-]{1,249}$",
        description="names of at most 249 letters, digits, points, hyphens and underscores",
    ),
]
#: The events that a topic can contain.
TopicOf = Annotated[str, Meta(pattern=r"^(partials|sentences|translations|captions)$")]
OwnSink = Annotated[
    str, Meta(pattern=r"^([\w.]+:)?[\w-]+=.+$", description="sinks such as mine:table=talk.csv")
]
#: One file, or several with different content.
Files = str | tuple[str, ...] | None

#: Tokens withheld from an unfinished translation, and words withheld from an unfinished transcript;
#: docs/figures.md shows their effect.
MASK_K, MASKED_WORDS = 3, 1
#: ``HOST:PORT`` of a broker.
Broker = Annotated[
    str, Meta(pattern=r"^[^\s,/]+:[0-9]{1,5}$", description="addresses such as localhost:9092")
]


class KafkaInput(msgspec.Struct, frozen=True, kw_only=True):
    """The input topic, and the Kafka cluster of the input and output topics."""

    #: Some brokers of the cluster; the client finds the others.
    brokers: Annotated[tuple[Broker, ...], Meta(min_length=1, max_length=100)] = ("localhost:9092",)
    #: Topic to read events from; absent to read none.
    topic: Topic | None = None
    #: Type of the events in the topic.
    events: Literal["partials", "translations", "captions"] = "partials"
    #: Topic for invalid messages, with the reason; without it, the first invalid message ends the job.
    dead_letters: Topic | None = None
    #: More properties of librdkafka, such as ``"security.protocol"``; their values are never printed.
    client: dict[str, Secret] = field(default_factory=dict)


class InputSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Where events come from. Set exactly one input; the stages that produce its events do not run."""

    #: Recognise the speech of this recording, or of several that are parts of one talk: sound or video, an
    #: address, or ``-`` for standard input.
    audio: Files = None
    #: Audio track of a video: its number or language. By default the track in the spoken language, otherwise
    #: the default track.
    track: int | str | None = None
    #: Listen to a microphone: its index, its name or a part of it, or ``default``.
    microphone: str | None = None
    #: Receive the sound of rooms from browsers (``surtitle serve``).
    rooms: bool = False
    #: Replay the partials of this file instead of recognising speech.
    partials: str | None = None
    #: Replay the translations of this file instead of translating.
    translations: str | None = None
    #: Replay the captions of this file.
    captions: str | None = None
    kafka: KafkaInput = KafkaInput()
    #: Process the input in real time instead of as fast as possible.
    realtime: bool = False
    #: Move invalid lines to EVENTS.rejected and continue.
    skip_bad: bool = False

    @property
    def recordings(self) -> tuple[str, ...]:
        """The recordings of ``audio``."""
        return (self.audio,) if isinstance(self.audio, str) else self.audio or ()


class RecognizeSettings(RecognizerSettings, frozen=True, kw_only=True):
    """The speech recogniser."""

    azure: AzureSettings = AzureSettings()


class SentencesSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How a recogniser's segments, which end at pauses, become sentences."""

    #: Sentence segmentation by rules; auto also uses a boundary model for English; off: every pause ends a
    #: sentence.
    method: Literal["auto", "rules", "off"] = "auto"
    #: Seconds of silence after which a sentence has ended.
    pause_s: Annotated[float, Meta(ge=0.1, le=60.0)] = Bounds().pause_s
    #: Convert spelled-out numbers to digits.
    digits: bool = True


class DisplaySettings(msgspec.Struct, frozen=True, kw_only=True):
    """How captions are displayed."""

    #: Number of tokens withheld from an unfinished translation, or of words from an unfinished transcript; by
    #: default 3 tokens or 1 word.
    mask_k: NotNegative | None = None
    #: What the mask withholds. tokens: exactly mask_k tokens; words: at least these, up to a whole word;
    #: steady: like words, but words that were shown stay visible while they are unchanged.
    mask: MaskRule = "steady"
    #: File of words to replace in captions, one per line: word, tab, replacement (by default asterisks).
    replace: str | None = None

    def withheld(self, *, by_model: bool) -> int:
        """Number of tokens withheld from captions made by a model, or of words from a transcript."""
        if self.mask_k is not None:
            return self.mask_k
        return MASK_K if by_model else MASKED_WORDS


class OutputSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Outputs. A file is written only if its name is set."""

    #: Show captions on the terminal.
    terminal: bool = True
    #: What subtitles show: source (the speech), target (its translation) or both.
    subtitles: Shown = "target"
    #: Write the closing summary here (JSON).
    summary: str | None = None
    #: Topics for events, at the brokers of the input: ``partials``, ``sentences`` (partials of sentences),
    #: ``translations`` and ``captions``.
    kafka: dict[TopicOf, Topic] = field(default_factory=dict)
    #: Sinks of other packages: ``NAME=FILE``, or ``MODULE:NAME=FILE`` if the sink has no entry point.
    sinks: tuple[OwnSink, ...] = ()
    #: Write the erasure log here (JSONL).
    log: str | None = None
    #: Write the recogniser's partials here (JSONL).
    partials: str | None = None
    #: Write the translated partials of sentences here (JSONL), without superseded ones.
    sentences: str | None = None
    #: Write the translations here (JSONL).
    translations: str | None = None
    #: Write the captions here (JSONL).
    captions: str | None = None
    #: Write subtitles here (SubRip); ``source=FILE``: the transcript, ``both=FILE``: with the transcript.
    srt: Files = None
    #: Write subtitles here (WebVTT); prefixes as for ``srt``.
    vtt: Files = None
    #: Write finished sentences here (plain text, one per line; .md: Markdown); ``times=FILE`` adds times.
    txt: Files = None
    #: Record the speech here (WAV, 16 kHz).
    audio: str | None = None
    #: Send captions to OBS: ``ws://localhost:4455``; set its password in SURTITLE_OBS_PASSWORD.
    obs: Secret | None = None
    #: Post each finished sentence to this address (JSON).
    webhook: Secret | None = None
    #: Send captions to the ingestion address of a YouTube live stream.
    youtube: Secret | None = None

    def files(self) -> list[tuple[SinkPart, Path]]:
        """The sinks that write files."""
        named = []
        for one in SINKS.values():
            given = () if one.is_address else getattr(self, one.name, None) or ()
            for number, text in enumerate((given,) if isinstance(given, str) else given):
                asked, path = asked_in(text, one) if one.shows else (one, Path(text))
                name = f"{one.name}-{number + 1}" if number else one.name
                named.append((asked._replace(name=name), path))
        for number, own in enumerate(self.sinks):
            name, _, file = own.partition("=")
            named.append((SINKS[name]._replace(name=f"sink-{number}"), Path(file)))
        return named

    def addresses(self) -> list[tuple[SinkPart, Secret]]:
        """The sinks that post to an address."""
        given = [(one, getattr(self, one.name, None)) for one in SINKS.values() if one.is_address]
        return [(one, address) for one, address in given if address is not None]


class WebSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Captions in a browser."""

    #: Also show the captions in a browser.
    enabled: bool = False
    #: Host name or address to listen on. If other machines can reach it, viewers need a token:
    #: SURTITLE_WEB_TOKEN, or a generated one.
    host: str = LOCAL
    #: Port; 0 picks a free one.
    port: Annotated[int, Meta(ge=0, le=65535)] = 8080
    #: Other host names under which viewers reach the server, for instance that of a proxy.
    names: tuple[str, ...] = ()


class RoomsSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Rooms whose speakers send their sound from a browser. ``translate.rooms`` is their maximum number."""

    #: Languages that rooms may be spoken in, by name or code; by default ``translate.from``. Several need a
    #: multilingual recogniser.
    spoken: tuple[str, ...] = msgspec.field(name="from", default=())
    #: Languages of captions that rooms may choose from; by default ``translate.to``.
    written: tuple[str, ...] = msgspec.field(name="to", default=())
    #: Write finals and subtitles of each room to this folder.
    folder: str | None = None
    #: Store the links of rooms in this file, so that they survive a restart.
    keys: str | None = None


class MetricsSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Metrics and health for the operator."""

    #: Serve /metrics and /healthz on [HOST:]PORT; the default host is 127.0.0.1, and port 0 picks a free one.
    listen: Annotated[int, Meta(ge=0, le=65535)] | str | None = None


class MessagesSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Messages on standard error."""

    #: Messages on standard error: text, or json (one object per line).
    format: Format = "text"


class RecoverySettings(msgspec.Struct, frozen=True, kw_only=True):
    """How a killed run resumes."""

    #: Store snapshots in this folder; a killed run resumes from them.
    folder: str | None = None
    #: Seconds between two snapshots; work since the last one is repeated after a crash.
    interval_s: Annotated[float, Meta(ge=0.01, le=3600.0)] = 1.0


#: Maximum threads of a flow.
MAX_WORKERS = 64


#: ``HOST:PORT`` of a process.
Address = Annotated[
    str, Meta(pattern=r"^[^\s,;/]+:[0-9]{1,5}$", description="addresses such as 10.0.0.1:2101")
]


class RunSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The runner of the flow, unless Bytewax's own runner is used."""

    #: Threads that share the streams of the input.
    workers: Annotated[int, Meta(ge=1, le=MAX_WORKERS)] = 1
    #: Addresses of all processes of a cluster, the same list for each of them; empty for one process.
    addresses: Annotated[tuple[Address, ...], Meta(max_length=1000)] = ()
    #: Number of this process among them, from 0; process 0 has the files.
    process: Annotated[int, Meta(ge=0, le=999)] = 0
    #: Print the time per update spent outside the model.
    profile: bool = False


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """All settings of a flow."""

    input: InputSettings = InputSettings()
    recognize: RecognizeSettings = RecognizeSettings()
    speakers: SpeakersSettings = SpeakersSettings()
    sentences: SentencesSettings = SentencesSettings()
    translate: TranslateSettings = TranslateSettings()
    display: DisplaySettings = DisplaySettings()
    output: OutputSettings = OutputSettings()
    web: WebSettings = WebSettings()
    rooms: RoomsSettings = RoomsSettings()
    metrics: MetricsSettings = MetricsSettings()
    messages: MessagesSettings = MessagesSettings()
    recovery: RecoverySettings = RecoverySettings()
    run: RunSettings = RunSettings()

    def files(self) -> list[tuple[SinkPart, Path]]:
        """The sinks of the output that write files, with one file for each caption language."""
        several = self.translate.written
        codes = [one.code for one in several] if several[1:] else []
        return [of_one for sink, path in self.output.files() for of_one in sink.of_each(path, codes)]

    @property
    def translates(self) -> bool:
        """Whether anything is translated: nothing is when translations or captions are replayed."""
        return not (self.input.translations or self.input.captions)

    @property
    def is_live(self) -> bool:
        return self.input.realtime or self.input.microphone is not None or self.input.rooms

    @property
    def happens_once(self) -> bool:
        """Whether the speech cannot be captioned again: that of a microphone, a broadcast or rooms."""
        return self.is_live and not self.input.realtime

    @property
    def keeps_up(self) -> bool:
        """Whether superseded updates are skipped."""
        if self.translate.keep_up is not None:
            return self.translate.keep_up
        return self.is_live or self.input.kafka.topic is not None

    @property
    def finals_only(self) -> bool:
        """Whether only finished sentences are captioned: by default, for a recording that nobody watches."""
        if self.translate.finals_only is not None:
            return self.translate.finals_only
        if self.input.audio is None or self.is_live or self.translate.keep_up is not None:
            return False
        output = self.output
        written = [sink.of for sink, _ in (*output.files(), *output.addresses())]
        # A file of updates must contain all of them.
        records_updates = output.summary or any(step in ("partials", "records") for step in written)
        is_watched = self.web.enabled or (output.terminal and not written)
        return not (records_updates or is_watched or output.kafka)

    @property
    def translates_together(self) -> bool:
        """Whether sentences share passes: in recordings, where nobody waits for a single sentence."""
        is_recording = self.input.audio is not None and not self.is_live
        # Health would report a sentence that waits for others as a stall.
        is_monitored = self.metrics.listen is not None
        # With context, a sentence has to wait for the preceding ones of its stream.
        is_apart = self.translate.rooms is not None or self.translate.context > 0
        return self.finals_only and is_recording and not (is_apart or is_monitored)
