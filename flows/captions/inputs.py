"""Where the events of a run come from, and the clock that goes with them."""

from collections.abc import Callable
from pathlib import Path
from threading import Event as Flag
from typing import Any, NamedTuple

from connectors.audio.source import AudioFileSource
from connectors.jsonl.source import JsonlSource
from connectors.microphone.source import MicrophoneSource
from flows.captions.pace import Pace
from flows.observe.observer import Observe
from flows.settings.schema import Settings
from operators.clock import Clock, VirtualClock, WallClock
from operators.errors import UsageError
from operators.events import AudioChunk, Caption, Event, Partial, Translation

#: The events that can stand in for the stages before them, and the input that each of them is.
REPLAYED: dict[type[Event], str] = {Partial: "partials", Translation: "translations", Caption: "captions"}
#: The settings that name an input.
INPUTS = ("audio", "microphone", *REPLAYED.values())

# Events that a source hands over together when time presses.
_MAX_AT_ONCE = 1000

Source = AudioFileSource | MicrophoneSource | JsonlSource[Any]


class Input(NamedTuple):
    """The one input of a run."""

    #: What it hands over; the stages before do not run.
    event_type: type[Event]
    source: Source
    clock: Clock
    #: Lets the source read on.
    pace: Pace

    def now(self) -> float:
        """Seconds since the streams began; 0 before they do."""
        return self.source.now()

    def close(self) -> None:
        """Let go of a microphone when the flow is over: after an error Bytewax closes no source."""
        if isinstance(self.source, MicrophoneSource):
            self.source.close()

    def complaint(self) -> str | None:
        """What is to be said at the end of lines that could not be used."""
        source = self.source
        if not isinstance(source, JsonlSource) or not source.rejected:
            return None
        lines = "1 line was" if source.rejected == 1 else f"{source.rejected} lines were"
        aside = f"put aside in {source.rejected_path}"
        if source.not_kept:
            aside += f", but for {source.not_kept} that could not be written there"
        return f"{lines} not valid and {aside}; the others were used"


def given_input(settings: Settings) -> str:
    """The name of the input that is given. Raises `UsageError` unless exactly one is."""
    given = [name for name in INPUTS if getattr(settings.input, name)]
    if len(given) != 1:
        raise UsageError(
            f"a flow needs exactly one input: set one of {', '.join(f'input.{name}' for name in INPUTS)}, "
            f"not {' and '.join(given) or 'none'}"
        )
    return given[0]


def make_input(settings: Settings, observe: Observe, stop: Flag) -> Input:
    """The input that the settings name; it is opened where the flow runs.

    Args:
        observe: Told what happens to it.
        stop: When set, it ends.

    Raises:
        UsageError: unless exactly one input is given; for a microphone that is not there.
        InputError: for a recording that cannot be read.
    """
    name, pace = given_input(settings), Pace()
    event_type = next((kind for kind, replayed in REPLAYED.items() if replayed == name), AudioChunk)
    source: Source
    if name == "audio":
        source = _recording(settings, observe, stop)
    elif name == "microphone":
        source = _microphone(settings, observe, stop)
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
        # What is read together would be seen together; what comes too fast has to be, to be overtaken.
        batch_size=_MAX_AT_ONCE if settings.keeps_up else 1,
        realtime=settings.input.realtime,
        stop=stop,
        # What is overtaken never gets to the log.
        wait=(lambda _handed: False) if settings.keeps_up else wait,
    )
