"""What the workers of a process share: the stop flag, and the models (two would compete for the cores)."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event as Flag
from threading import Lock
from typing import Protocol

from msgspec.structs import replace

from flows.engine.recognition import make_recognizer
from flows.engine.translation import Engine, open_engine
from flows.observe.observer import Observe
from flows.settings.schema import Settings, TranslateSettings
from operators.decoding.decoder import Decoder
from operators.decoding.translator import SegmentState, Translates, TranslatorOfEach
from operators.languages import Direction
from operators.observed import LoadingAt, LoadingBegan, LoadingEnded, ModelLoaded
from operators.recognizers.protocol import Recognizer
from operators.serving.segments import Translated
from operators.serving.thread import RoomsThread


class StreamLanguages(Protocol):
    """The languages of streams that differ in them."""

    @property
    def directions(self) -> tuple[Direction, ...]:
        """All that there may be, the usual one first."""
        ...

    def direction(self, stream: str, /) -> Direction:
        """The languages of a stream."""
        ...


class Shared:
    """The shared resources: one instance per process and flow, thread-safe."""

    def __init__(
        self, settings: Settings, observe: Observe, languages: StreamLanguages | None = None
    ) -> None:
        """Load nothing yet.

        Args:
            settings: Name the models.
            observe: Called with events of loading and of recognisers.
            languages: Those of each stream, if they differ.
        """
        self._settings = settings
        self._observe = observe
        self._languages = languages
        self._lock = Lock()
        self._translator: Translates | None = None
        self._rooms: RoomsThread[SegmentState, Translated] | None = None
        #: When set, sources end as if their input had ended.
        self.stop = Flag()

    def load(self) -> None:
        """Load what translates, which otherwise happens on first use."""
        if self._settings.translate.rooms is None:
            self.translator()
        else:
            self.rooms()

    def translator(self) -> Translates:
        """The process's translator, loaded on first use; not with rooms."""
        with self._lock:
            if self._translator is None:
                with self._opened() as engine:
                    self._translator = self._translates(engine, engine.one_at_a_time())
            return self._translator

    def rooms(self) -> RoomsThread[SegmentState, Translated]:
        """The process's rooms, loaded on first use."""
        with self._lock:
            if self._rooms is None:
                with self._opened() as engine:
                    self._rooms = engine.rooms(
                        lambda decoder: self._translates(engine, decoder), keep_up=self._settings.keeps_up
                    )
            return self._rooms

    def recognizer(self, stream: str) -> Recognizer:
        """A recogniser for one stream."""
        settings, observe = self._settings.recognize, self._observe
        if self._languages is not None:
            # The other rooms do not wait for this one.
            spoken = self._languages.direction(stream).source.name
            return make_recognizer(settings, spoken=spoken, observe=observe)
        with self._loading():
            return make_recognizer(settings, spoken=self._settings.translate.source, observe=observe)

    def _translates(self, engine: Engine, decoder: Decoder) -> Translates:
        settings, languages = self._settings.translate, self._languages
        if languages is None:
            return engine.translator(settings, decoder)
        translators = {
            one.code: engine.translator(_to(settings, one), decoder) for one in languages.directions
        }
        return TranslatorOfEach(lambda stream: translators[languages.direction(stream).code])

    @contextmanager
    def _opened(self) -> Iterator[Engine]:
        """The engine, and report it as loaded afterwards."""
        with self._loading():
            directions = () if self._languages is None else self._languages.directions
            engine = open_engine(self._settings.translate, self._progress, directions)
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


#: Makes the resources of a run.
MakeShared = Callable[[Settings, Observe, StreamLanguages | None], Shared]


def _to(settings: TranslateSettings, direction: Direction) -> TranslateSettings:
    # A glossary's terms are in the languages of the settings.
    glossary = settings.glossary if direction == settings.direction else None
    return replace(settings, source=direction.source.name, target=direction.target.name, glossary=glossary)
