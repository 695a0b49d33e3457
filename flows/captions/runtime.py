"""What the stages of one process share besides events: the model, clock, screen, summary and stop."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Event as Flag
from threading import Lock
from time import monotonic, perf_counter
from typing import Any

import msgspec

from connectors.audio.source import AudioFileSource
from connectors.files.output import inherited
from connectors.files.watch import OutputWatch
from connectors.jsonl.reading import read_events
from connectors.jsonl.source import JsonlSource
from connectors.messages.log import tell
from connectors.microphone.source import MicrophoneSource
from connectors.terminal.drawing import open_screen
from flows.engine.recognition import make_recognizer
from flows.engine.translation import Progress, open_engine
from flows.observe.audience import Audience
from flows.observe.live_status import LiveStatus
from flows.observe.watch import Watch
from flows.settings.schema import Settings
from operators.clock import Clock, VirtualClock, WallClock
from operators.decoding.translator import Translator
from operators.events import ErasureRecord, Partial
from operators.languages import language
from operators.metrics.erasure import ErasureMeter, ErasureState
from operators.metrics.quantiles import Quantiles
from operators.metrics.summary import Summary, SummaryMeter
from operators.metrics.tokenizers import erasure_signature, tokenizer
from operators.models.open_sessions import Usage
from operators.models.pool import SessionPool
from operators.recognizers.protocol import Recognizer
from operators.serving.admission import Door
from operators.trouble import TroubleWatch

#: Events that a replay is ahead of the log when every one of them gets there.
_MAX_AHEAD = 100


class Runtime:
    """One per process and flow; workers share it, because two models would fight for the cores."""

    def __init__(
        self,
        settings: Settings,
        progress: Progress | None = None,
        at_position: Callable[[float, float], None] | None = None,
    ) -> None:
        """``progress`` is told about loading, ``at_position`` the seconds in the input and its length."""
        self._settings = settings
        self._progress = progress
        self.at_position = at_position
        self._lock = Lock()
        self._translator: Translator | None = None
        self._pool: SessionPool | None = None
        self._last_record_s: float | None = None
        self._summary = SummaryMeter()
        self._taken = 0
        #: When set, sources end as if their input had ended.
        self.stop = Flag()
        #: The flow's source, once the flow is built.
        self.source: AudioFileSource | MicrophoneSource | JsonlSource[Any] | None = None
        #: What is wrong with an input that is used all the same, as far as it goes.
        self.complaints: list[str] = []
        #: What could not be written when the run was over.
        self.unwritten: list[str] = []
        self.clock: Clock = WallClock(self.now) if settings.is_live else VirtualClock()
        #: When set, it counts the seconds between two records that no forward pass accounts for.
        self.overheads_s: Quantiles | None = None
        target = language(settings.translate.target)
        #: Where captions are seen; whoever runs the flow closes it.
        self.screen = open_screen(target.columns, is_logged=settings.messages.format == "json")
        #: How it goes with the language model.
        self.model = TroubleWatch(partial(tell, "model_trouble"))
        #: Who has a place; elsewhere than in live speech whoever comes too early waits.
        self.door = self._door(settings)
        #: Who watches in a browser; whoever runs the flow lets them in and closes.
        self.audience = Audience(settings)
        #: Who watches how it runs; whoever runs the flow opens and closes it.
        self.watch = Watch(settings, lambda: self.audience.viewers, lambda: self.usage)
        self.live = LiveStatus(self.screen, self.now, self.audience.status, self.watch)
        #: Sees to the files that are written.
        self.outputs = OutputWatch(self.live.output)
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
                with self.watch.loading():
                    engine = open_engine(self._settings.translate, self._progress)
                self._pool, self._translator = engine.pool, engine.translator(self._settings.translate)
            return self._translator

    @property
    def usage(self) -> Usage:
        """What the model's cache holds."""
        return Usage() if self._pool is None else self._pool.usage

    @staticmethod
    def _door(settings: Settings) -> Door | None:
        rooms = settings.translate.rooms
        return Door(rooms, monotonic, partial(tell, "room_refused")) if rooms and settings.is_live else None

    def admits(self, event: Partial) -> bool:
        """Whether the stream of an update has a place; where there is no door all have one."""
        return self.door is None or self.door.admits(event.stream)

    def recognizer(self, _stream: str) -> Recognizer:
        """A recogniser for one stream."""
        with self.watch.loading():
            spoken = self._settings.translate.source
            return make_recognizer(self._settings.recognize, spoken=spoken, tell=self.live.recognizer)

    def meter(self, resume: ErasureState | None) -> ErasureMeter:
        """The erasure meter of one stream."""
        return ErasureMeter(self._tokenizer, self._signature, resume)

    def take(self, record: ErasureRecord) -> None:
        """Add one record to the summary."""
        with self._lock:
            self._summary.add(record)
            self._taken += 1
            self.live.caption(record)
            self.audience.record(record, self._lost_s())
            self.watch.record(record)
            if self.overheads_s is not None:
                now = perf_counter()
                if self._last_record_s is not None:
                    self.overheads_s.add(now - self._last_record_s - record.effort.model_s)
                self._last_record_s = now

    def summary(self, log: str | None = None) -> Summary:
        """The summary of what has been taken so far, or of all that an erasure log holds."""
        meter, missing = self._summary, self.outputs.missing()
        # What went into a pipe, a device or standard output cannot be read back.
        can_read = log is not None and Path(log).is_file() and inherited(Path(log)) is None
        if log is not None and can_read and log not in (one.path for one in missing):
            meter = SummaryMeter()
            for record in read_events(Path(log), ErasureRecord):
                meter.add(record)
        settings = msgspec.to_builtins(self._settings)
        del settings["web"]["token"]
        return meter.summary(
            settings, lost_s=self._lost_s(), absent_s=self.live.losses.absent_s, missing=missing
        )

    def end(self) -> None:
        """Leave captions as they are: no more will come. It may be called again, and raises nothing."""
        self.screen.close()
        self.audience.end()
        self.watch.end()

    def is_behind(self) -> bool:
        """Whether other workers have as much of a replay before them as they need to be kept busy.

        More would only be done again by a run that was killed, and take room.
        """
        handed = self.source.handed if isinstance(self.source, JsonlSource) else 0
        return handed - self._taken >= _MAX_AHEAD

    def _lost_s(self) -> float:
        """Seconds of sound that were said and not heard."""
        return self.live.losses.total_s - self.live.losses.absent_s

    def now(self) -> float:
        """Seconds since the streams began."""
        return self.source.now() if self.source else 0.0
