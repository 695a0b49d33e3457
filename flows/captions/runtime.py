"""What the stages of one process share besides events: the model, clock, screen, summary and stop."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import Event as Flag
from threading import Lock
from typing import Any

from connectors.audio.source import AudioFileSource
from connectors.files.watch import OutputWatch
from connectors.jsonl.source import JsonlSource
from connectors.microphone.source import MicrophoneSource
from connectors.terminal.drawing import open_screen
from flows.engine.recognition import make_recognizer
from flows.engine.translation import open_engine
from flows.observe.audience import Audience
from flows.observe.live_status import StatusLine
from flows.observe.messages import Messages
from flows.observe.observer import Observer, Observers
from flows.observe.summary import RunSummary
from flows.observe.watch import Watch
from flows.settings.schema import Settings
from operators.clock import Clock, VirtualClock, WallClock
from operators.decoding.translator import Translator
from operators.events import ErasureRecord
from operators.languages import language
from operators.metrics.erasure import ErasureMeter, ErasureState
from operators.metrics.tokenizers import erasure_signature, tokenizer
from operators.observed import (
    LoadingBegan,
    LoadingEnded,
    ModelLoaded,
    RecordingAt,
    RecordingTruncated,
    RunEnded,
    UpdateMeasured,
)
from operators.progress import Progress, silent
from operators.recognizers.protocol import Recognizer

#: Events that a replay is ahead of the log when every one of them gets there.
_MAX_AHEAD = 100


class Runtime:
    """One per process and flow; workers share it, because two models would fight for the cores."""

    def __init__(
        self,
        settings: Settings,
        progress: Progress = silent,
        at_position: Callable[[float, float], None] | None = None,
        more: Iterable[Observer] = (),
    ) -> None:
        """``progress`` is told about loading, ``at_position`` the seconds in the input and its length.

        ``more`` look on as well.
        """
        self._settings = settings
        self._progress = progress
        self.at_position = at_position
        self._lock = Lock()
        self._translator: Translator | None = None
        self._taken = 0
        #: When set, sources end as if their input had ended.
        self.stop = Flag()
        #: The flow's source, once the flow is built.
        self.source: AudioFileSource | MicrophoneSource | JsonlSource[Any] | None = None
        self.clock: Clock = WallClock(self.now) if settings.is_live else VirtualClock()
        target = language(settings.translate.target)
        #: Where captions are seen; whoever runs the flow closes it.
        self.screen = open_screen(target.columns, is_logged=settings.messages.format == "json")
        #: Who watches in a browser, and who watches how it runs, where anybody is to.
        self.audience = audience = Audience(settings) if settings.web.enabled else None
        self.watch = _watch(settings, audience)
        #: Tells the user what happens.
        self.messages = Messages()
        line = StatusLine(self.screen, audience) if settings.input.microphone else None
        #: Adds up what the run amounts to.
        self.summary = RunSummary(settings)
        asked = [one for one in (self.watch, line, audience) if one is not None]
        self.observers = Observers(self.messages, self.summary, *asked, *more)
        #: Sees to the files that are written.
        self.outputs = OutputWatch(self.observers.observe)
        replayed = settings.input.captions is not None
        self._signature = erasure_signature(target.tokenizer, None if replayed else settings.display.mask_k)
        self._tokenizer = tokenizer(target.tokenizer)

    def release(self) -> None:
        """Let go of a microphone when the flow is over: after an error Bytewax closes no source."""
        if isinstance(self.source, MicrophoneSource):
            self.source.close()

    def translator(self) -> Translator:
        """The process's translator, loaded when it is asked for first."""
        with self._lock:
            if self._translator is None:
                with self._loading():
                    engine = open_engine(self._settings.translate, self._progress)
                self._translator = engine.translator(self._settings.translate)
                self.observers.observe(ModelLoaded(lambda: engine.pool.usage))
            return self._translator

    def recognizer(self, _stream: str) -> Recognizer:
        """A recogniser for one stream."""
        with self._loading():
            spoken = self._settings.translate.source
            return make_recognizer(self._settings.recognize, spoken=spoken, observe=self.observers.observe)

    @contextmanager
    def _loading(self) -> Iterator[None]:
        self.observers.observe(LoadingBegan())
        try:
            yield
        finally:
            self.observers.observe(LoadingEnded())

    def meter(self, resume: ErasureState | None) -> ErasureMeter:
        """The erasure meter of one stream."""
        return ErasureMeter(self._tokenizer, self._signature, resume)

    def take(self, record: ErasureRecord) -> None:
        """Tell of an update that is measured."""
        self.observers.observe(UpdateMeasured(record, self.now()))
        with self._lock:
            self._taken += 1

    def at(self, event: RecordingAt | RecordingTruncated) -> None:
        """Tell of a recording."""
        if self.at_position is not None and isinstance(event, RecordingAt):
            self.at_position(event.position_s, event.duration_s)
        self.observers.observe(event)

    def end(self) -> None:
        """Leave captions as they are: no more will come. It may be called again, and raises nothing."""
        self.screen.close()
        self.observers.observe(RunEnded())

    def is_behind(self) -> bool:
        """Whether other workers have as much of a replay before them as they need to be kept busy.

        More would only be done again by a run that was killed, and take room.
        """
        handed = self.source.handed if isinstance(self.source, JsonlSource) else 0
        return handed - self._taken >= _MAX_AHEAD

    def now(self) -> float:
        """Seconds since the streams began."""
        return self.source.now() if self.source else 0.0


def _watch(settings: Settings, audience: Audience | None) -> Watch | None:
    if settings.metrics.listen is None:
        return None
    return Watch(settings, lambda: 0 if audience is None else audience.viewers)
