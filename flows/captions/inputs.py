"""The source of a run's events, and the matching clock."""

from pathlib import Path
from threading import Event as Flag
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from connectors.audio.live import LiveAddress
from connectors.audio.media import Wanted
from connectors.audio.recording import STANDARD_INPUT, live_stream, stream_of
from connectors.audio.source import AudioFileSource
from connectors.jsonl.source import JsonlSource
from connectors.microphone.source import MicrophoneSource
from connectors.rooms.registry import RoomRegistry, RoomsSource
from flows.observe.observer import Observe
from flows.running.dataflow import Process
from flows.settings.schema import Settings
from operators.addresses import is_address
from operators.clock import Clock, LagClock, VirtualClock, WallClock
from operators.errors import UsageError
from operators.events import AudioChunk, Caption, Event, Partial, Translation
from operators.extras import needs_extra
from operators.languages import language

if TYPE_CHECKING:
    from connectors.kafka import Cluster, KafkaEventSource

#: The events that can be replayed instead of running the stages before them, and their input settings.
REPLAYED: dict[type[Event], str] = {Partial: "partials", Translation: "translations", Caption: "captions"}
#: The settings that name an input.
INPUTS = ("audio", "microphone", "rooms", *REPLAYED.values(), "kafka")

# Maximum number of events in one batch of a source whose updates may be overtaken.
_MAX_AT_ONCE = 1000

Source: TypeAlias = "AudioFileSource | MicrophoneSource | RoomsSource | JsonlSource[Any] | KafkaEventSource"


class Input(NamedTuple):
    """The input of a run."""

    #: The type of its events; the stages before them do not run.
    event_type: type[Event]
    source: Source
    clock: Clock

    def now(self) -> float:
        """Seconds since the streams began; 0 before that."""
        return self.source.now()

    def now_of(self, stream: str) -> float:
        """Seconds on the clock of a stream."""
        return self.clock.at(stream) if isinstance(self.clock, LagClock) else self.now()

    def close(self) -> None:
        """Close the source at the end of the flow, because Bytewax closes none after an error."""
        if isinstance(self.source, MicrophoneSource):
            self.source.close()

    def complaint(self) -> str | None:
        """The message at the end of the run about lines that were rejected."""
        source = self.source
        if not isinstance(source, JsonlSource) or not source.rejected:
            return None
        lines = "1 line was" if source.rejected == 1 else f"{source.rejected} lines were"
        aside = f"put aside in {source.rejected_path}"
        if source.not_kept:
            aside += f", except for {source.not_kept} that could not be written there"
        return f"{lines} not valid and {aside}; the others were used"


def given_input(settings: Settings) -> str:
    """The name of the given input. Raises `UsageError` unless there is exactly one."""
    given = [name for name in INPUTS if name != "kafka" and getattr(settings.input, name)]
    given += ["kafka"] * (settings.input.kafka.topic is not None)
    if len(given) != 1:
        raise UsageError(
            f"a flow needs exactly one input: set one of {', '.join(map(_setting, INPUTS))}, "
            f"not {' and '.join(given) or 'none'}"
        )
    return given[0]


def _setting(name: str) -> str:
    return "input.kafka.topic" if name == "kafka" else f"input.{name}"


def given_type(settings: Settings) -> type[Event]:
    """The type of the events of the given input."""
    name = given_input(settings)
    kind = settings.input.kafka.events if name == "kafka" else name
    return next((one for one, replayed in REPLAYED.items() if replayed == kind), AudioChunk)


def make_input(
    settings: Settings, observe: Observe, stop: Flag, process: Process, rooms: RoomRegistry | None = None
) -> Input:
    """The input that the settings name; it is opened when the flow runs.

    Args:
        observe: Called with the events of the input.

    Raises:
        UsageError: unless exactly one input is given; for a microphone that does not exist.
        InputError: for a recording that cannot be read.
    """
    name = given_input(settings)
    event_type = given_type(settings)
    source: Source
    if name == "audio":
        source = _recording(settings, observe, stop)
    elif name == "microphone":
        source = _microphone(settings, observe, stop)
    elif name == "kafka":
        source = _topic(settings, stop)
    elif name == "rooms":
        assert rooms is not None, "a run with rooms as its input makes them first"
        source = RoomsSource(rooms, stop)
    else:
        source = _replay(event_type, name, settings, stop, process)
    return Input(event_type, source, _clock(source, settings))


def _clock(source: Source, settings: Settings) -> Clock:
    if isinstance(source, RoomsSource):
        return source.rooms.clock
    if settings.input.kafka.topic is not None:
        return LagClock(source.now)
    return WallClock(source.now) if settings.is_live else VirtualClock()


def _microphone(settings: Settings, observe: Observe, stop: Flag) -> MicrophoneSource:
    name = str(settings.input.microphone)
    return MicrophoneSource(
        stream=live_stream(name),
        device=LiveAddress(name) if is_address(name) else None if name == "default" else name,
        stop=stop,
        observe=observe,
    )


def _recording(settings: Settings, observe: Observe, stop: Flag) -> AudioFileSource:
    recordings = settings.input.recordings
    if STANDARD_INPUT in recordings and settings.recovery.folder:
        raise UsageError(
            "a run that reads standard input cannot be resumed, because nobody can read it again; "
            "leave out --recovery, or save it as a file"
        )
    if recordings.count(STANDARD_INPUT) > 1:
        raise UsageError("standard input can be read once; give - once")
    asked = "" if settings.input.track is None else str(settings.input.track)
    wanted = Wanted(
        asked if asked.isdecimal() or not asked else language(asked).base,
        language(settings.translate.source).base,
    )
    return AudioFileSource(
        recordings, stream=stream_of(recordings[0]), realtime=settings.input.realtime, stop=stop,
        observe=observe, wanted=wanted,
    )  # fmt: skip


def _replay(
    event_type: type[Event],
    name: str,
    settings: Settings,
    stop: Flag,
    process: Process,
) -> JsonlSource[Any]:
    return JsonlSource(
        Path(getattr(settings.input, name)),
        event_type,
        skip_bad=settings.input.skip_bad,
        # Events of one batch reach the viewer together, so batches are 1. But updates can overtake each other
        # only within a batch, so where they may be overtaken, batches are large.
        batch_size=_MAX_AT_ONCE if settings.keeps_up else 1,
        realtime=settings.input.realtime,
        stop=stop,
        is_here=process.has_files,
    )


def _topic(settings: Settings, stop: Flag) -> "KafkaEventSource":
    with needs_extra("kafka", "input from Kafka"):
        from connectors.kafka import KafkaEventSource
    return KafkaEventSource(kafka_cluster(settings), str(settings.input.kafka.topic), stop)


def kafka_cluster(settings: Settings) -> "Cluster":
    """The brokers of the topics that are read and written."""
    from connectors.kafka import Cluster

    given = settings.input.kafka
    return Cluster(given.brokers, {name: value.reveal() for name, value in given.client.items()})
