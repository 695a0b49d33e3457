"""What the workers of a process share: the stop flag, and the models (two would compete for the cores)."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event as Flag
from threading import Lock

from flows.engine.recognition import make_recognizer
from flows.engine.translation import Engine, open_engine
from flows.observe.observer import Observe
from flows.settings.schema import Settings
from operators.decoding.translator import SegmentState, Translator
from operators.observed import LoadingAt, LoadingBegan, LoadingEnded, ModelLoaded
from operators.recognizers.protocol import Recognizer
from operators.serving.segments import Translated
from operators.serving.thread import RoomsThread


class Shared:
    """The shared resources: one instance per process and flow, thread-safe."""

    def __init__(self, settings: Settings, observe: Observe) -> None:
        """``observe`` is told about loading, and about events of recognisers."""
        self._settings = settings
        self._observe = observe
        self._lock = Lock()
        self._translator: Translator | None = None
        self._rooms: RoomsThread[SegmentState, Translated] | None = None
        #: When set, sources end as if their input had ended.
        self.stop = Flag()

    def load(self) -> None:
        """Load what translates, which otherwise happens on first use."""
        if self._settings.translate.rooms is None:
            self.translator()
        else:
            self.rooms()

    def translator(self) -> Translator:
        """The process's translator, loaded on first use; not with rooms."""
        with self._lock:
            if self._translator is None:
                with self._opened() as engine:
                    self._translator = engine.translator(self._settings.translate)
            return self._translator

    def rooms(self) -> RoomsThread[SegmentState, Translated]:
        """The process's rooms, loaded on first use."""
        with self._lock:
            if self._rooms is None:
                with self._opened() as engine:
                    self._rooms = engine.rooms(self._settings.translate, keep_up=self._settings.keeps_up)
            return self._rooms

    def recognizer(self, _stream: str) -> Recognizer:
        """A recogniser for one stream."""
        with self._loading():
            spoken = self._settings.translate.source
            return make_recognizer(self._settings.recognize, spoken=spoken, observe=self._observe)

    @contextmanager
    def _opened(self) -> Iterator[Engine]:
        """The engine, and report it as loaded afterwards."""
        with self._loading():
            engine = open_engine(self._settings.translate, self._progress)
            yield engine
        self._observe(ModelLoaded(lambda: engine.pool.usage))

    def _progress(self, what: str, fraction: float | None) -> None:
        self._observe(LoadingAt(what, fraction))

    @contextmanager
    def _loading(self) -> Iterator[None]:
        self._observe(LoadingBegan())
        try:
            yield
        finally:
            self._observe(LoadingEnded())
