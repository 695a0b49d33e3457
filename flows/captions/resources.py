"""Shared resources of a process's workers: the stop flag, and models (copies would compete for cores)."""

import atexit
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, cached_property, partial
from pathlib import Path
from threading import Event as Flag
from threading import Lock
from typing import Protocol

from msgspec.structs import replace

from connectors.messages import log_event
from connectors.terminology import read_glossary
from flows.engine.marian import open_boundary_scorer
from flows.engine.recognition import finals_of, make_recognizer
from flows.engine.translation import Engine, open_engines, to_direction
from flows.engine.voices import make_listeners
from flows.settings.schema import Settings
from flows.settings.terminology import parted as parted_files
from operators.decoding.drive import Decoder
from operators.decoding.translator import SegmentTranslator
from operators.decoding.verbatim import Verbatim
from operators.events import MAX_SPEAKER, Partial, parted
from operators.languages import ENGLISH, Direction, Language, direction_among, language
from operators.models.pool import Usage
from operators.notifications import LoadingAt, LoadingBegan, LoadingEnded, ModelLoaded, Observe
from operators.recognizers.part import RecognizerSettings
from operators.recognizers.protocol import Recognizer
from operators.sentences.joining import Bounds, Sentences, SentencesState, SpokenRules
from operators.sentences.numbers import digits
from operators.sentences.seam import BoundaryScorer
from operators.serving.service import BATCH, BatchService, DirectService, ModelQueue, Service, ThreadService
from operators.speakers import Namings
from operators.stages.recognize import Speakers
from operators.stages.sentences import MakeSentences
from operators.voices.assigning import VoicesState
from operators.voices.listening import Listener, MakeListener
from operators.voices.settings import SpeakersSettings


class StreamLanguages(Protocol):
    """The directions of each stream, and the name of its only speaker."""

    @property
    def directions(self) -> tuple[Direction, ...]:
        """All directions, the default one first."""
        ...

    def directions_of(self, stream: str, /) -> tuple[Direction, ...]:
        """The directions of a stream, at least one."""
        ...

    def direction(self, channel: str, spoken: str = "", /) -> Direction:
        """From the ``spoken`` language to that of a channel (`channel_of`); by default, the first ones."""
        ...

    def speaker(self, stream: str, /) -> str:
        """The name of a stream's only speaker: that of the room or of the stream."""
        ...


class TalkLanguages:
    """The same languages for all streams."""

    def __init__(self, directions: tuple[Direction, ...]) -> None:
        self.directions = directions

    def directions_of(self, stream: str) -> tuple[Direction, ...]:  # noqa: ARG002 - for `StreamLanguages`
        return self.directions

    def direction(self, channel: str, spoken: str = "") -> Direction:
        return direction_among(self.directions, spoken, parted(channel)[1])

    def speaker(self, stream: str) -> str:
        return stream


class RunResources:
    """Models and stop flag shared by the workers of a process: one instance for each flow, thread-safe."""

    def __init__(
        self,
        settings: Settings,
        observe: Observe,
        languages: StreamLanguages | None = None,
        earlier: "RunResources | None" = None,
    ) -> None:
        """Load nothing yet.

        Args:
            languages: Set if streams differ in their languages.
            earlier: Resources of a finished run whose models are reused; only input and outputs may differ.
        """
        self._settings = settings
        self._observe = observe
        usual = TalkLanguages(settings.translate.directions)
        self._languages: StreamLanguages = usual if languages is None else languages
        self._lock = Lock()
        self._service: Service | None = None
        self._verbatim = cache(self._made_verbatim)
        self._unexpected = set[Language]()
        self._engines: Sequence[Engine] = () if earlier is None else earlier._engines
        # For English, or None if it is not installed; empty until it is loaded.
        self._scorers: list[BoundaryScorer | None] = [] if earlier is None else earlier._scorers
        self._listeners: list[MakeListener | None] = [] if earlier is None else earlier._listeners
        # Recognisers made by `load` that no stream uses yet.
        self._made: list[Recognizer] = []
        #: When set, sources end as if their input had ended.
        self.stop = Flag()

    def load(self, *, hears: bool = False) -> None:
        """Load the models now instead of on first use.

        Args:
            hears: Whether a recogniser is needed; it is loaded in parallel with the other models.
        """
        with ThreadPoolExecutor(1, "recognizer") as beside:
            making = beside.submit(self._load_recognizer) if hears else None
            if self._settings.translates:
                self._load_translators()
        if making is None:
            return
        if self._settings.input.rooms:
            # Each room has its own. If it cannot be made, the server must fail now, not at the first speaker.
            making.result().close()
        else:
            self._made.append(making.result())

    def _load_recognizer(self) -> Recognizer:
        self._listener()
        return self._make_recognizer("")

    def _load_translators(self) -> None:
        if self._directions:
            self.service()
        is_english = any(one.source == ENGLISH for one in self._languages.directions)
        if self._settings.sentences.method == "auto" and is_english:
            self._boundary_scorer()

    def service(self) -> Service:
        """Loaded on first use."""
        with self._lock:
            if self._service is None and not self._directions:
                self._service = DirectService(partial(self._translator, {}))
            elif self._service is None:
                with self._opened() as engines:
                    self._service = self._serve(engines)
            return self._service

    def speaker_of(self, stream: str) -> str:
        """The name of a stream's only speaker; a number gets a "#", because alone it is an unnamed voice."""
        name = self._languages.speaker(stream)[:MAX_SPEAKER]
        return f"#{name}" if name.isdecimal() else name

    def speakers(self, namings: Namings) -> Speakers | None:
        """Speaker identification; None if it is off. The model is loaded on first use."""
        if self._settings.speakers == SpeakersSettings():
            return None

        def make(stream: str, state: VoicesState) -> Listener:
            listener = self._listener()
            assert listener is not None, "the settings enable it"
            return listener(stream, state)

        return Speakers(make, namings)

    def _listener(self) -> MakeListener | None:
        with self._lock:
            if not self._listeners:
                with self._loading():
                    self._listeners.append(
                        make_listeners(self._settings.speakers, self.speaker_of, self._progress)
                    )
            return self._listeners[0]

    def recognizer(self, stream: str) -> Recognizer:
        """A recogniser for a stream; the first one may have been made by `load`."""
        try:
            return self._made.pop()
        except IndexError:
            return self._make_recognizer(stream)

    def _make_recognizer(self, stream: str) -> Recognizer:
        settings: RecognizerSettings = self._settings.recognize
        observe = self._observe
        if self._settings.finals_only and not self._settings.is_live:
            # Live updates also show that a sentence continues.
            settings = finals_of(settings)
        if self._settings.input.rooms:
            # Not reported as loading: the other rooms do not wait for it.
            spoken = tuple(dict.fromkeys(one.source for one in self._languages.directions_of(stream)))
            is_first = self._settings.translate.direction.source in spoken
            words = self._expected if is_first else frozenset()
            return make_recognizer(settings, spoken=spoken, observe=observe, words=words, is_live=True)
        with self._loading():
            return make_recognizer(
                settings, spoken=self._settings.translate.spoken, observe=observe, words=self._expected,
                is_live=self._settings.is_live, progress=self._progress,
            )  # fmt: skip

    @cached_property
    def _expected(self) -> Set[str]:
        """The words of all glossaries; they are in the first spoken language."""
        files = dict.fromkeys(file for _, file in parted_files(self._settings.translate.glossary))
        return frozenset[str]().union(*(read_glossary(Path(file).expanduser()).words for file in files))

    def sentences(self) -> MakeSentences | None:
        """Makes the joiner of a stream's segments; None if segments are not joined."""
        settings, languages = self._settings.sentences, self._languages
        if settings.method == "off":
            return None
        bounds = Bounds(settings.pause_s)

        def rules(spoken: Language) -> SpokenRules:
            scorer = self._boundary_scorer() if settings.method == "auto" and spoken == ENGLISH else None
            return SpokenRules(spoken, scorer, partial(digits, language=spoken) if settings.digits else str)

        def make(state: SentencesState) -> Sentences:
            usual = languages.direction(state.stream).source
            return Sentences(state, lambda code: rules(language(code) if code else usual), bounds=bounds)

        return make

    @property
    def _directions(self) -> list[Direction]:
        return self._settings.translate.by_model(self._languages.directions)

    def _boundary_scorer(self) -> BoundaryScorer | None:
        """The boundary scorer for English, loaded on first use, after the translation models."""
        if self._directions:
            self.service()
        with self._lock:
            if not self._scorers:
                with self._loading():
                    self._progress("loading the boundary scorer", None)
                    engines = [each for one in self._engines for each in (one, one.first) if each is not None]
                    self._scorers.append(open_boundary_scorer(engine.model for engine in engines))
            return self._scorers[0]

    def _serve(self, engines: Sequence[Engine]) -> Service:
        """The service on the engines, each of which translates some of the directions."""
        settings = self._settings
        if not (settings.translates_together or settings.translate.is_shared):
            each = [self._translators(engine, engine.sequential_decoder()) for engine in engines]
            known = {code: one for own in each for code, one in own.items()}
            return DirectService(lambda update: self._translator(known, update))
        models = dict[str, ModelQueue]()
        for engine in engines:
            scheduler = engine.scheduler(is_hurried=not settings.translates_together)
            own = self._translators(engine, scheduler)
            models |= dict.fromkeys(own, ModelQueue(scheduler, partial(self._translator, own)))
        # Captions in the spoken language take no time, so any queue can pass them on.
        usual = next(iter(models.values()))

        def of(update: Partial) -> ModelQueue:
            return models.get(self._direction(update).code, usual)

        if settings.translates_together:
            return BatchService(of)
        service = ThreadService(list(dict.fromkeys(models.values())), of)
        # The program must not end in the middle of a pass.
        atexit.register(service.stop)
        return service

    def _translators(self, engine: Engine, decoder: Decoder) -> dict[str, SegmentTranslator]:
        settings = self._settings.translate
        return {
            one.code: engine.translator(to_direction(settings, one), decoder)
            for one in self._directions
            if one.code in engine.prompts
        }

    def _direction(self, update: Partial) -> Direction:
        return self._languages.direction(update.channel, update.spoken or "")

    def _translator(self, known: Mapping[str, SegmentTranslator], update: Partial) -> SegmentTranslator:
        """The translator of the update's direction; without a model for it, captions are the transcript."""
        direction = self._direction(update)
        return known.get(direction.code) or self._verbatim(direction)

    def _made_verbatim(self, direction: Direction) -> Verbatim:
        is_expected = direction in self._languages.directions or self._settings.translate.captions_only
        if is_expected or not direction.translates:
            return Verbatim()
        self._report_unexpected(direction.source)
        return Verbatim(direction.source.own or direction.source.name)

    def _report_unexpected(self, spoken: Language) -> None:
        if spoken not in self._unexpected:
            self._unexpected.add(spoken)
            log_event(
                "language_unexpected",
                f"{spoken.name} is spoken, and is shown without translation; to translate it, name it with "
                "--from, besides the others",
            )

    @contextmanager
    def _opened(self) -> Iterator[Sequence[Engine]]:
        """Open the engines for all languages, and report them as loaded afterwards."""
        with self._loading():
            settings = self._settings.translate
            if self._settings.translates_together:
                settings = replace(settings, sessions=max(settings.sessions, BATCH), commit=0)
            self._engines = engines = self._engines or open_engines(
                settings, self._directions, self._progress
            )
            yield engines
        self._observe(ModelLoaded(lambda: _usage(engines)))

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
MakeResources = Callable[[Settings, Observe, StreamLanguages | None], RunResources]


def _usage(engines: Sequence[Engine]) -> Usage:
    first = [engine.first for engine in engines if engine.first is not None]
    each = [engine.pool.usage for engine in (*engines, *first)]
    return Usage(*(sum(numbers) for numbers in zip(*each, strict=True)))
