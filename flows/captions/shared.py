"""What the workers of a process share: the stop flag, and the models (two would compete for the cores)."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event as Flag
from threading import Lock
from typing import Protocol

from msgspec.structs import replace

from flows.engine.recognition import make_recognizer
from flows.engine.translation import open_engine
from flows.observe.observer import Observe
from flows.settings.schema import Settings, TranslateSettings
from operators.decoding.translator import Translates, TranslatorOfEach
from operators.languages import Direction
from operators.observed import LoadingAt, LoadingBegan, LoadingEnded, ModelLoaded
from operators.recognizers.protocol import Recognizer


class Rooms(Protocol):
    """Streams that differ in their languages."""

    @property
    def directions(self) -> tuple[Direction, ...]:
        """All that there may be, the usual one first."""
        ...

    def direction(self, stream: str, /) -> Direction:
        """The languages of a stream."""
        ...


class Shared:
    """The shared resources: one instance per process and flow, thread-safe."""

    def __init__(self, settings: Settings, observe: Observe, rooms: Rooms | None = None) -> None:
        """Load nothing yet.

        Args:
            settings: Name the models.
            observe: Called with events of loading and of recognisers.
            rooms: The languages of each stream, if they differ.
        """
        self._settings = settings
        self._observe = observe
        self._rooms = rooms
        self._lock = Lock()
        self._translator: Translates | None = None
        #: When set, sources end as if their input had ended.
        self.stop = Flag()

    def translator(self) -> Translates:
        """The process's translator, loaded on first use."""
        with self._lock:
            if self._translator is None:
                self._translator = self._open()
            return self._translator

    def _open(self) -> Translates:
        settings, rooms = self._settings.translate, self._rooms
        with self._loading():
            if rooms is None:
                engine = open_engine(settings, self._progress)
            else:
                engine = open_engine(settings, self._progress, rooms.directions)
        self._observe(ModelLoaded(lambda: engine.pool.usage))
        if rooms is None:
            return engine.translator(settings)
        translators = {one.code: engine.translator(_to(settings, one)) for one in rooms.directions}
        return TranslatorOfEach(lambda stream: translators[rooms.direction(stream).code])

    def recognizer(self, stream: str) -> Recognizer:
        """A recogniser for one stream."""
        settings, observe = self._settings.recognize, self._observe
        if self._rooms is not None:
            # The other rooms do not wait for this one.
            spoken = self._rooms.direction(stream).source.name
            return make_recognizer(settings, spoken=spoken, observe=observe)
        with self._loading():
            return make_recognizer(settings, spoken=self._settings.translate.source, observe=observe)

    def _progress(self, what: str, fraction: float | None) -> None:
        self._observe(LoadingAt(what, fraction))

    @contextmanager
    def _loading(self) -> Iterator[None]:
        self._observe(LoadingBegan())
        try:
            yield
        finally:
            self._observe(LoadingEnded())


#: Makes the resources of a run.
MakeShared = Callable[[Settings, Observe, Rooms | None], Shared]


def _to(settings: TranslateSettings, direction: Direction) -> TranslateSettings:
    return replace(settings, source=direction.source.name, target=direction.target.name)
