"""The source of a run's events, and the matching clock."""

from pathlib import Path
from threading import Event as Flag
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from connectors.audio.media import TrackChoice
from connectors.audio.recording import STANDARD_INPUT, live_stream, stream_of
from connectors.audio.source import AudioFileSource
from connectors.jsonl.source import JsonlSource
from connectors.microphone.broadcast import Broadcast
from connectors.microphone.source import MicrophoneSource
from connectors.rooms.registry import RoomRegistry, RoomsSource
from flows.running.dataflow import Process
from flows.settings.schema import Settings
from operators.addresses import is_address
from operators.clock import Clock, LagClock, VirtualClock, WallClock
from operators.errors import UsageError
from operators.events import AudioChunk, Caption, Event, Partial, Translation
from operators.extras import needs_extra
from operators.languages import language
from operators.notifications import Observe

if TYPE_CHECKING:
    from connectors.kafka import Cluster, KafkaEventSource

#: The events that can be replayed instead of running the stages before them, and their input settings.
REPLAYED: dict[type[Event], str] = {Partial: "partials", Translation: "translations", Caption: "captions"}
#: The settings that name an input.
INPUTS = ("audio", "microphone", "rooms", *REPLAYED.values(), "kafka")

# Maximum number of events in one batch of a source whose updates may be superseded.
_MAX_AT_ONCE = 1000

Source: TypeAlias = "AudioFileSource | MicrophoneSource | RoomsSource | JsonlSource[Any] | KafkaEventSource"


class Input(NamedTuple):
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

    def begin(self) -> None:
        """Start a microphone, to record speech while models are loaded."""
        if isinstance(self.source, MicrophoneSource):
            self.source.begin()

    def close(self) -> None:
        """Close the source at the end of the flow, because Bytewax closes none after an error."""
        if isinstance(self.source, MicrophoneSource):
            self.source.close()

    def complaint(self) -> str | None:
        """The closing message about rejected lines."""
        source = self.source
        if not isinstance(source, JsonlSource) or not source.rejected:
            return None
        lines = "1 line was" if source.rejected == 1 else f"{source.rejected} lines were"
        return f"{lines} not valid and put aside in {source.rejected_path}; the others were used"


def given_input(settings: Settings) -> str:
    """Raises `UsageError` unless exactly one input is given."""
    given = [name for name in INPUTS if name != "kafka" and getattr(settings.input, name)]
    given += ["kafka"] * (settings.input.kafka.topic is not None)
    if len(given) != 1:
        names = ", ".join(f"input.{name}" for name in INPUTS).replace("kafka", "kafka.topic")
        raise UsageError(
            f"a flow needs exactly one input: set one of {names}, not {' and '.join(given) or 'none'}"
        )
    return given[0]


def make_input(
    settings: Settings, observe: Observe, stop: Flag, process: Process, rooms: RoomRegistry | None = None
) -> Input:
    """The input that the settings name; it is opened by `begin`, or when the flow runs.

    Args:
        rooms: Set if rooms are the input.

    Raises:
        UsageError: unless exactly one input is given; for a microphone that does not exist.
        InputError: for a recording that cannot be read.
    """
    given, name = settings.input, given_input(settings)
    kind = given.kafka.events if name == "kafka" else name
    event_type = next((one for one, replayed in REPLAYED.items() if replayed == kind), AudioChunk)
    if rooms is not None:
        return Input(event_type, RoomsSource(rooms, stop), rooms.clock)
    if given.kafka.topic is not None:
        with needs_extra("kafka", "input from Kafka"):
            from connectors.kafka import KafkaEventSource
        topic = KafkaEventSource(kafka_cluster(settings), given.kafka.topic, stop)
        return Input(event_type, topic, LagClock(topic.now))
    source: AudioFileSource | MicrophoneSource | JsonlSource[Any]
    if given.microphone is not None:
        address = Broadcast(given.microphone) if is_address(given.microphone) else None
        source = MicrophoneSource(
            stream=live_stream(given.microphone),
            device=address or (None if given.microphone == "default" else given.microphone),
            stop=stop,
            observe=observe,
        )
    elif event_type is AudioChunk:
        source = _recording(settings, observe, stop)
    else:
        # Events of one batch reach the viewer together, so a batch has one event. But an update can only
        # supersede others of its batch. Therefore batches are large if updates may be superseded.
        source = JsonlSource(
            Path(getattr(given, name)),
            event_type,
            skip_bad=given.skip_bad,
            batch_size=_MAX_AT_ONCE if settings.keeps_up else 1,
            realtime=given.realtime,
            stop=stop,
            is_here=process.has_files,
        )
    return Input(event_type, source, WallClock(source.now) if settings.is_live else VirtualClock())


def _recording(settings: Settings, observe: Observe, stop: Flag) -> AudioFileSource:
    recordings = settings.input.recordings
    if STANDARD_INPUT in recordings and settings.recovery.folder:
        raise UsageError(
            "a run that reads standard input cannot be resumed, because it cannot be read again; "
            "leave out --recovery, or save it as a file"
        )
    if recordings.count(STANDARD_INPUT) > 1:
        raise UsageError("standard input can be read once; give - once")
    track = "" if settings.input.track is None else str(settings.input.track)
    return AudioFileSource(
        recordings,
        stream=stream_of(recordings[0]),
        realtime=settings.input.realtime,
        stop=stop,
        observe=observe,
        choice=TrackChoice(
            track if track.isdecimal() or not track else language(track).base,
            language(settings.translate.sources[0]).base,
        ),
    )


def kafka_cluster(settings: Settings) -> "Cluster":
    from connectors.kafka import Cluster

    given = settings.input.kafka
    return Cluster(given.brokers, {name: value.reveal() for name, value in given.client.items()})
