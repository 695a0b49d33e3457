"""The schema of the settings: one frozen struct per stage, all in one TOML file, no global state.

A setting that commands take is ``Annotated`` with its `Option`. Its help is also what the settings' page
says of it, unless a comment says more there.
"""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import Meta, field

from connectors.http.access import LOCAL
from connectors.messages import Format
from connectors.rooms.room import RoomLimits
from connectors.sinks.part import SINKS, SinkPart
from connectors.web.hub import MAX_CLIENTS
from flows.settings.lists import words
from flows.settings.output import DisplaySettings, KafkaOutput, OutputSettings, Topic
from flows.settings.stage import ELSEWHERE, Positive, Stage, extended
from flows.settings.translate import TranslateSettings
from operators.metrics.health import Rule
from operators.parts import Option
from operators.recognizers.part import RECOGNIZERS, RecognizerSettings
from operators.secret import Secret
from operators.sentences.joining import Bounds

_LIMITS = RoomLimits()


#: ``HOST:PORT`` of a broker.
Broker = Annotated[
    str, Meta(pattern=r"^[^\s,/]+:[0-9]{1,5}$", description="addresses such as localhost:9092")
]


class KafkaInput(Stage, frozen=True, kw_only=True):
    """A topic that events are read from, and the cluster of the topics that are written."""

    #: Some brokers of the cluster; the client finds the others.
    brokers: Annotated[tuple[Broker, ...], Meta(min_length=1, max_length=100)] = ("localhost:9092",)
    #: The topic; absent to read none.
    topic: Topic | None = None
    #: The type of its events.
    events: Literal["partials", "translations", "captions"] = "partials"
    #: Topic for messages that cannot be used, with the reason; without it, the first one ends the job.
    dead_letters: Topic | None = None
    #: More properties of librdkafka, such as ``"security.protocol"``; their values are not shown.
    client: dict[str, Secret] = field(default_factory=dict)


class InputSettings(Stage, frozen=True, kw_only=True):
    """Where events come from. Give exactly one input; the stages before its events do not run."""

    #: Recognise the speech of this recording: sound or video, an address, or ``-`` for standard input.
    audio: str | None = None
    #: Recordings that follow it, as parts of one talk.
    more_audio: tuple[str, ...] = ()
    track: Annotated[str | None, Option(
        "Audio track of a video: its number, or its language; otherwise the one in the spoken language, or "
        "the default one.", default="that in the spoken language",
    )] = None  # fmt: skip
    #: Listen to a microphone: its index, its name or a part of it, or ``default``.
    microphone: Annotated[str | None, Option(
        "Index of the microphone, or part of its name; otherwise the system's.", "--device",
    )] = None  # fmt: skip
    #: Take the sound of rooms from browsers (``surtitle serve``).
    rooms: bool = False
    #: Seconds of sound that are buffered while the flow is busy; beyond that, the oldest are lost.
    buffer_s: Annotated[float, Meta(ge=1.0, le=600.0)] = _LIMITS.buffer_s
    partials: Annotated[str | None, Option(
        "Replay the partials of this file instead of recognising speech.", "--from-partials",
    )] = None  # fmt: skip
    translations: Annotated[str | None, Option(
        "Replay the translations of this file instead of translating.", "--from-translations",
    )] = None  # fmt: skip
    captions: Annotated[str | None, Option("Replay the captions of this file.", "--from-captions")] = None
    kafka: KafkaInput = KafkaInput()
    realtime: Annotated[
        bool, Option("Play the recording at its own pace, instead of as fast as possible.", "--realtime")
    ] = False
    skip_bad: Annotated[bool, Option("Move invalid lines to EVENTS.rejected and continue.", "--skip-bad")] = (
        False
    )


def _engine() -> Any:
    names = list(RECOGNIZERS)
    shown, pattern = ", ".join(names), rf"^({'|'.join(map(re.escape, names))}|{ELSEWHERE})$"
    meta = Meta(pattern=pattern, description=f"{shown} or MODULE:NAME", examples=names)
    return Annotated[str, meta, Option(f"{shown}, or MODULE:NAME for one of your own.", "--recognizer")]


if TYPE_CHECKING:
    RecognizeSettings = RecognizerSettings
else:
    RecognizeSettings = extended(
        "RecognizeSettings",
        RecognizerSettings,
        [
            ("engine", _engine(), RecognizerSettings().engine),
            *((one.name, one.settings, one.settings()) for one in RECOGNIZERS.values() if one.settings),
        ],
    )


class SentencesSettings(Stage, frozen=True, kw_only=True):
    """How a recogniser's segments, which end at pauses, become sentences."""

    method: Annotated[Literal["auto", "rules", "off"], Option(
        "Where sentences end: rules, or auto, which also judges English words where they are unsure; off "
        "takes pauses for their ends.", "--sentences",
    )] = "auto"  # fmt: skip
    #: Seconds of silence after which a sentence has ended.
    pause_s: Annotated[float, Meta(ge=0.1, le=60.0)] = Bounds().pause_s
    #: Words from which on a sentence ends at the next pause where a clause may end; with half as many more,
    #: at any.
    max_words: Positive = Bounds().words
    #: Seconds of speech from which on it does, too.
    max_s: Annotated[float, Meta(ge=1.0, le=3600.0)] = Bounds().speech_s
    #: Write numbers that the recogniser spells out as digits.
    digits: bool = True


class WebSettings(Stage, frozen=True, kw_only=True):
    """Captions in a browser."""

    enabled: Annotated[bool, Option("Show the captions in a browser, too.", "--web")] = False
    #: Name or address to listen on; one that other machines can reach needs a token.
    host: Annotated[str, Option("Address that the web page is served at; implies --web.")] = LOCAL
    #: Port; 0 for any free one.
    port: Annotated[int, Meta(ge=0, le=65535), Option("Its port, 0 for any; implies --web.")] = 8080
    #: Access token for viewers; absent for the one in SURTITLE_WEB_TOKEN, or a new one if one is needed.
    token: Secret | None = None
    #: Names under which viewers reach the server, besides ``host``, for instance those of a proxy.
    names: tuple[str, ...] = ()
    #: Maximum number of simultaneous viewers.
    max_clients: Annotated[int, Meta(ge=1, le=100_000)] = MAX_CLIENTS


class RoomsSettings(Stage, frozen=True, kw_only=True):
    """Rooms whose speakers send their sound from a browser. ``translate.rooms`` is their maximum number."""

    #: Languages that rooms may be spoken in, by name or code; absent for ``translate.from``. More than one
    #: needs a recogniser that knows them.
    spoken: Annotated[
        tuple[str, ...], Option("Languages that rooms may be spoken in.", default="English", parse=words)
    ] = msgspec.field(name="from", default=())
    #: Languages of captions that rooms may choose from; absent for ``translate.to``.
    written: Annotated[tuple[str, ...], Option(
        "Languages that rooms may be captioned in: German,Spanish.", default="German", parse=words,
    )] = msgspec.field(name="to", default=())  # fmt: skip
    folder: Annotated[
        str | None, Option("Write finals and subtitles of each room into this folder.", "--captions-folder")
    ] = None
    keys: Annotated[
        str | None, Option("Keep the links of rooms in this file, over a restart.", "--room-keys")
    ] = None
    silence_s: Annotated[float, Meta(ge=1.0, le=86_400.0), Option(
        "Seconds without sound after which a room ends.", "--silence",
    )] = _LIMITS.silence_s  # fmt: skip
    #: Seconds in which a speaker may come back after the connection was lost.
    linger_s: Annotated[float, Meta(ge=0.0, le=3600.0)] = _LIMITS.linger_s


class MetricsSettings(Stage, frozen=True, kw_only=True):
    """Metrics and health for the operator."""

    listen: Annotated[Annotated[int, Meta(ge=0, le=65535)] | str | None, Option(
        "Serve metrics and /healthz at [HOST:]PORT, without HOST to this machine only; PORT 0 is any.",
        "--metrics", "nowhere",
    )] = None  # fmt: skip
    #: Unhealthy after this many seconds without a caption despite speech, or without sound from the source.
    stall_s: Annotated[float, Meta(ge=0.1, le=3600.0)] = Rule().stall_s
    #: Unhealthy after this many seconds of live sound in which nothing is recognised; 0 for never, for music.
    unheard_s: Annotated[float, Meta(ge=0.0, le=3600.0)] = Rule().unheard_s
    #: Peak level in dBFS below which sound counts as silence.
    silence_dbfs: Annotated[float, Meta(ge=-96.0, le=0.0)] = Rule().silence_dbfs


class MessagesSettings(Stage, frozen=True, kw_only=True):
    """Messages on standard error."""

    format: Annotated[
        Format, Option("Messages on standard error: text, or json (one object per line).", "--log-format")
    ] = "text"


class RecoverySettings(Stage, frozen=True, kw_only=True):
    """How a killed run resumes."""

    folder: Annotated[
        str | None, Option("Store snapshots in this folder; a killed run resumes from them.", "--recovery")
    ] = None
    #: Seconds between two snapshots; work since the last one is repeated after a crash.
    interval_s: Annotated[float, Meta(ge=0.01, le=3600.0)] = 1.0


#: Maximum threads of a flow.
MAX_WORKERS = 64


#: ``HOST:PORT`` of a process.
Address = Annotated[
    str, Meta(pattern=r"^[^\s,;/]+:[0-9]{1,5}$", description="addresses such as 10.0.0.1:2101")
]


class RunSettings(Stage, frozen=True, kw_only=True):
    """The runner of the flow, unless Bytewax's own runner is used."""

    workers: Annotated[
        int, Meta(ge=1, le=MAX_WORKERS), Option("Threads that share the streams of the input.")
    ] = 1
    #: Addresses of all processes of a cluster, the same list for each of them; empty for one process.
    addresses: Annotated[tuple[Address, ...], Meta(max_length=1000), Option(
        "HOST:PORT of each process of a cluster, with commas between.",
        default="one process", parse=lambda _flag, given: tuple(given.split(",")),
    )] = ()  # fmt: skip
    process: Annotated[
        int, Meta(ge=0, le=999), Option("Number of this process among them, from 0; process 0 has the files.")
    ] = 0


class Settings(Stage, frozen=True, kw_only=True):
    """All settings of a flow."""

    input: InputSettings = InputSettings()
    recognize: RecognizeSettings = RecognizeSettings()
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
        """The sinks that are named, with their files: of captions in several languages, one for each."""
        several = self.translate.directions if self.translate.more_targets else ()
        codes = [one.target.code for one in several]
        return [of_one for sink, path in self.output.files() for of_one in sink.of_each(path, codes)]

    @property
    def translates(self) -> bool:
        """Whether anything is translated: nothing is where translations or captions are replayed."""
        return not (self.input.translations or self.input.captions)

    @property
    def is_live(self) -> bool:
        """Whether events come as they happen."""
        return self.input.realtime or self.input.microphone is not None or self.input.rooms

    @property
    def keeps_up(self) -> bool:
        """Whether overtaken updates are skipped."""
        if self.translate.keep_up is not None:
            return self.translate.keep_up
        return self.is_live or self.input.kafka.topic is not None

    @property
    def finals_only(self) -> bool:
        """Whether only finished sentences are captioned: by default, of a recording that nobody watches."""
        if self.translate.finals_only is not None:
            return self.translate.finals_only
        if self.input.audio is None or self.is_live or self.translate.keep_up is not None:
            return False
        output = self.output
        own = [given.partition("=")[0] for given in output.sinks]
        written = [one.of for name, one in SINKS.items() if getattr(output, name)]
        written += [SINKS[name].of for name in own]
        # Somebody who names a file for every update wants all of them.
        records_updates = output.summary or any(step in ("partials", "records") for step in written)
        is_watched = self.web.enabled or (output.terminal and not written)
        return not (records_updates or is_watched or output.kafka != KafkaOutput())

    @property
    def translates_together(self) -> bool:
        """Whether sentences share passes: those of a recording, which ends, so nobody waits for them."""
        is_recording = self.input.audio is not None and not self.is_live
        # For health, a sentence that waits for others would be a stall.
        is_monitored = self.metrics.listen is not None
        # A sentence whose translator is told those before it follows them in their stream.
        is_apart = self.translate.rooms is not None or self.translate.context > 0
        return self.finals_only and is_recording and not (is_apart or is_monitored)
