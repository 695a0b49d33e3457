"""The source of a run's events, and the matching clock."""

from collections.abc import Callable
from pathlib import Path
from threading import Event as Flag
from typing import Any, NamedTuple

from connectors.audio.source import AudioFileSource
from connectors.jsonl.source import JsonlSource
from connectors.microphone.source import MicrophoneSource
from connectors.rooms.registry import RoomRegistry
from connectors.rooms.source import RoomsSource
from flows.captions.pace import Pace
from flows.observe.observer import Observe
from flows.settings.schema import Settings
from operators.clock import Clock, VirtualClock, WallClock
from operators.errors import UsageError
from operators.events import AudioChunk, Caption, Event, Partial, Translation

#: The events that can be replayed instead of running the stages before them, and their input settings.
REPLAYED: dict[type[Event], str] = {Partial: "partials", Translation: "translations", Caption: "captions"}
#: The settings that name an input.
INPUTS = ("audio", "microphone", "rooms", *REPLAYED.values())

# Maximum number of events in one batch of a source whose updates may be overtaken.
_MAX_AT_ONCE = 1000

Source = AudioFileSource | MicrophoneSource | RoomsSource | JsonlSource[Any]


class Input(NamedTuple):
    """The input of a run."""

    #: The type of its events; the stages before them do not run.
    event_type: type[Event]
    source: Source
    clock: Clock
    #: Limits how far the source reads ahead.
    pace: Pace

    def now(self) -> float:
        """Seconds since the streams began; 0 before that."""
        return self.source.now()

    def close(self) -> None:
        """Close a microphone at the end of the flow, because Bytewax closes no source after an error."""
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
            aside += f", but for {source.not_kept} that could not be written there"
        return f"{lines} not valid and {aside}; the others were used"


def given_input(settings: Settings) -> str:
    """The name of the given input. Raises `UsageError` unless there is exactly one."""
    given = [name for name in INPUTS if getattr(settings.input, name)]
    if len(given) != 1:
        raise UsageError(
            f"a flow needs exactly one input: set one of {', '.join(f'input.{name}' for name in INPUTS)}, "
            f"not {' and '.join(given) or 'none'}"
        )
    return given[0]


def make_input(settings: Settings, observe: Observe, stop: Flag, rooms: RoomRegistry | None = None) -> Input:
    """The input that the settings name; it is opened when the flow runs.

    Args:
        settings: Name the input.
        observe: Called with the events of the input.
        stop: When set, the input ends.
        rooms: The rooms, if they are the input.

    Raises:
        UsageError: unless exactly one input is given; for a microphone that does not exist.
        InputError: for a recording that cannot be read.
    """
    name, pace = given_input(settings), Pace()
    event_type = next((kind for kind, replayed in REPLAYED.items() if replayed == name), AudioChunk)
    source: Source
    if name == "audio":
        source = _recording(settings, observe, stop)
    elif name == "microphone":
        source = _microphone(settings, observe, stop)
    elif name == "rooms":
        assert rooms is not None, "whoever chooses rooms as the input makes them"
        source = RoomsSource(rooms, stop)
    else:
        source = _replay(event_type, name, settings, pace.is_ahead, stop)
    clock: Clock = WallClock(source.now) if settings.is_live else VirtualClock()
    return Input(event_type, source, clock, pace)


def _microphone(settings: Settings, observe: Observe, stop: Flag) -> MicrophoneSource:
    name = settings.input.microphone
    return MicrophoneSource(
        stream="microphone",
        device=None if name == "default" else name,
        buffer_s=settings.input.buffer_s,
        stop=stop,
        observe=observe,
    )


def _recording(settings: Settings, observe: Observe, stop: Flag) -> AudioFileSource:
    path = Path(str(settings.input.audio))
    return AudioFileSource(
        path, stream=path.stem, realtime=settings.input.realtime, stop=stop, observe=observe
    )


def _replay(
    event_type: type[Event], name: str, settings: Settings, wait: Callable[[int], bool], stop: Flag
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
        # Overtaken updates never get to the log, so the pace cannot count them.
        wait=(lambda _handed: False) if settings.keeps_up else wait,
    )
