"""The schema of the settings: one frozen struct per stage, all in one TOML file, no global state.

The comment above a setting is what the settings' page says of it.
"""

from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from connectors.http.access import LOCAL
from connectors.kafka.settings import KafkaInput, KafkaOutput
from connectors.messages import Format
from connectors.rooms.room import RoomLimits
from connectors.sinks.part import SINKS, SinkPart
from connectors.web.streams import MAX_CLIENTS
from flows.settings.output import DisplaySettings, OutputSettings
from flows.settings.stage import Positive, Stage
from flows.settings.translate import TranslateSettings
from operators.metrics.health import Rule
from operators.recognizers.azure.settings import AzureSettings
from operators.recognizers.part import RecognizerSettings
from operators.secret import Secret
from operators.sentences.joining import Bounds

_LIMITS = RoomLimits()


class InputSettings(Stage, frozen=True, kw_only=True):
    """Where events come from. Give exactly one input; the stages before its events do not run."""

    #: Recognise the speech of this recording: sound or video, an address, or ``-`` for standard input.
    audio: str | None = None
    #: Recordings that follow it, as parts of one talk.
    more_audio: tuple[str, ...] = ()
    #: Audio track of a video: its number, or its language; absent for the one in the spoken language, or the
    #: default one.
    track: int | str | None = None
    #: Listen to a microphone: its index, its name or a part of it, or ``default``.
    microphone: str | None = None
    #: Take the sound of rooms from browsers (``surtitle serve``).
    rooms: bool = False
    #: Seconds of sound that are buffered while the flow is busy; beyond that, the oldest are lost.
    buffer_s: Annotated[float, Meta(ge=1.0, le=600.0)] = _LIMITS.buffer_s
    #: Replay the partials of this file instead of recognising speech.
    partials: str | None = None
    #: Replay the translations of this file instead of translating.
    translations: str | None = None
    #: Replay the captions of this file.
    captions: str | None = None
    kafka: KafkaInput = KafkaInput()
    #: Play the recording at its own pace, instead of as fast as possible.
    realtime: bool = False
    #: Move invalid lines to EVENTS.rejected and continue.
    skip_bad: bool = False


class RecognizeSettings(RecognizerSettings, frozen=True, kw_only=True):
    """The speech recogniser."""

    azure: AzureSettings = AzureSettings()


class SentencesSettings(Stage, frozen=True, kw_only=True):
    """How a recogniser's segments, which end at pauses, become sentences."""

    #: Where sentences end: rules, or auto, which also judges English words where they are unsure; off
    #: takes pauses for their ends.
    method: Literal["auto", "rules", "off"] = "auto"
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

    #: Show the captions in a browser, too.
    enabled: bool = False
    #: Name or address to listen on; one that other machines can reach needs a token.
    host: str = LOCAL
    #: Port; 0 for any free one.
    port: Annotated[int, Meta(ge=0, le=65535)] = 8080
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
    spoken: tuple[str, ...] = msgspec.field(name="from", default=())
    #: Languages of captions that rooms may choose from; absent for ``translate.to``.
    written: tuple[str, ...] = msgspec.field(name="to", default=())
    #: Write finals and subtitles of each room into this folder.
    folder: str | None = None
    #: Keep the links of rooms in this file, over a restart.
    keys: str | None = None
    #: Seconds without sound after which a room ends.
    silence_s: Annotated[float, Meta(ge=1.0, le=86400.0)] = _LIMITS.silence_s
    #: Seconds in which a speaker may come back after the connection was lost.
    linger_s: Annotated[float, Meta(ge=0.0, le=3600.0)] = _LIMITS.linger_s


class MetricsSettings(Stage, frozen=True, kw_only=True):
    """Metrics and health for the operator."""

    #: Serve metrics and /healthz at [HOST:]PORT, without HOST to this machine only;
    #: PORT 0 is any.
    listen: Annotated[int, Meta(ge=0, le=65535)] | str | None = None
    #: Unhealthy after this many seconds without a caption despite speech, or without sound from the source.
    stall_s: Annotated[float, Meta(ge=0.1, le=3600.0)] = Rule().stall_s
    #: Unhealthy after this many seconds of live sound in which nothing is recognised; 0 for never, for music.
    unheard_s: Annotated[float, Meta(ge=0.0, le=3600.0)] = Rule().unheard_s
    #: Peak level in dBFS below which sound counts as silence.
    silence_dbfs: Annotated[float, Meta(ge=-96.0, le=0.0)] = Rule().silence_dbfs


class MessagesSettings(Stage, frozen=True, kw_only=True):
    """Messages on standard error."""

    #: Messages on standard error: text, or json (one object per line).
    format: Format = "text"


class RecoverySettings(Stage, frozen=True, kw_only=True):
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


class RunSettings(Stage, frozen=True, kw_only=True):
    """The runner of the flow, unless Bytewax's own runner is used."""

    #: Threads that share the streams of the input.
    workers: Annotated[int, Meta(ge=1, le=MAX_WORKERS)] = 1
    #: Addresses of all processes of a cluster, the same list for each of them; empty for one process.
    addresses: Annotated[tuple[Address, ...], Meta(max_length=1000)] = ()
    #: Number of this process among them, from 0; process 0 has the files.
    process: Annotated[int, Meta(ge=0, le=999)] = 0


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
        written = [one.of for name, one in SINKS.items() if getattr(output, name, None)]
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
