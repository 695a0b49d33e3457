"""The observers of a captions run, chosen by its settings; one of them reports to the user in sentences."""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Lock
from typing import Protocol

from connectors.exports.room_files import RoomFiles
from connectors.files.watch import OutputWatch
from connectors.messages import log_event
from connectors.terminal import Screen
from flows.observe.audience import Audience
from flows.observe.live_status import RecordingProgress, StatusLine
from flows.observe.monitoring import Monitoring
from flows.observe.summary import RunSummary, SoundLevels
from flows.settings.schema import Settings
from operators.addresses import is_address
from operators.languages import is_language, language
from operators.model_errors import ErrorKind, ModelErrorLog
from operators.notifications import (
    MessageSkipped,
    Observed,
    OutputChanged,
    RecognizerChanged,
    RecordingTruncated,
    RunEnded,
    SourceChanged,
    SpeechCut,
)
from operators.speakers import Namings
from operators.text import cleaned


class Observer(Protocol):
    """Observes a run without changing it."""

    def observe(self, event: Observed, /) -> None:
        """Handle an event, or ignore it; called from any thread, so it must not block."""
        ...


class Observers:
    """Passes each event to all observers, in their order.

    An observer that raises must not end the captions: the error is reported with its traceback, and the
    observer gets no more events.
    """

    def __init__(self, *observers: Observer) -> None:
        self._observers = observers
        #: Whether an observer has failed.
        self.have_failed = False

    def observe(self, event: Observed) -> None:
        """Pass on an event; thread-safe, never raises."""
        for one in self._observers:
            try:
                one.observe(event)
            except Exception as error:  # noqa: BLE001 - whatever it is, captions continue
                self._observers = tuple(other for other in self._observers if other is not one)
                self.have_failed = True
                name = type(one).__name__
                sentence = f"{name} failed and is not used any more; captions continue"
                log_event("observer_failed", sentence, level=logging.ERROR, error=error, observer=name)


class Messages:
    """Reports events to the user in sentences."""

    def __init__(self) -> None:
        self._model = ModelErrorLog()
        self._truncated: list[str] = []
        self._has_cut = False
        self._lock = Lock()
        # Events in other languages than those of the run, by the language.
        self._left_out = Counter[str]()

    def observe(self, event: Observed) -> None:
        match event:
            case SourceChanged(sentence):
                log_event("source_changed", sentence)
            case RecognizerChanged(sentence):
                log_event("recognizer_changed", sentence)
            case SpeechCut(sentence) if not self._has_cut:
                self._has_cut = True
                log_event("speech_cut", f"{sentence}; further cases are only counted")
            case OutputChanged(path, sentence, is_late):
                log_event("write_failed" if is_late else "write_recovered", sentence, output=path)
            case MessageSkipped("language", code):
                with self._lock:
                    self._left_out[code] += 1
            case RunEnded():
                self._report_left_out()
            case RecordingTruncated(sentence):
                self._truncated.append(sentence)

    def model_answered(self, trouble: ErrorKind | None, why: str) -> None:
        """Report a problem of a translation; ``why`` says which translation, with details."""
        for sentence in self._model.note(trouble, why):
            log_event("model_trouble", sentence)

    def _report_left_out(self) -> None:
        """Report the number of events dropped since the last report."""
        with self._lock:
            counts, self._left_out = self._left_out, Counter()
        if counts:
            names = {code: language(code).name if is_language(code) else cleaned(code) for code in counts}
            each = ", ".join(f"{count} in {names[code]}" for code, count in sorted(counts.items()))
            log_event("languages_left_out", f"events left out: {each}; --to names the languages of a run")

    def complaints(self) -> list[str]:
        """The closing messages: an input that broke off, a model that failed until the end."""
        broken = self._model.complaint()
        return [*self._truncated, *([broken] if broken else [])]


class RunObservers(Observers):
    """The messages and the summary of any run, and the observers whose output the settings name.

    ``has_files``: whether the output files are this process's. Raises `UsageError` for an invalid address or
    token.
    """

    def __init__(
        self, settings: Settings, screen: Screen, others: Iterable[Observer] = (), *, has_files: bool = True
    ) -> None:
        #: The names that viewers give to voices.
        self.namings = Namings()
        self.messages = Messages()
        self.summary = RunSummary(settings)
        #: Measures the sound, if the input is sound.
        self.heard = SoundLevels(settings)
        #: Watches the output files, and reports them to the observers.
        self.outputs = OutputWatch(self.observe, is_here=has_files)
        self.audience = audience = self._audience(settings) if settings.web.enabled else None
        self.monitoring = None if settings.metrics.listen is None else Monitoring(settings, self._viewers)
        given = settings.input
        absent = "no broadcast" if is_address(given.microphone or "") else "no microphone"
        asked = (
            self.heard if given.audio or given.microphone or given.rooms else None,
            self.monitoring,
            StatusLine(screen, audience, absent) if given.microphone else None,
            RecordingProgress(screen) if given.audio and settings.output.terminal else None,
            audience,
        )
        super().__init__(self.messages, self.summary, *(one for one in asked if one is not None), *others)

    def _audience(self, settings: Settings) -> Audience:
        folder = settings.rooms.folder if settings.input.rooms else None
        files = None if not folder else RoomFiles(Path(folder), self.outputs)
        return Audience(settings, files, self.namings)

    @contextmanager
    def served(self) -> Iterator[str | None]:
        """Serve metrics and captions inside the block, if enabled; returns the address of the captions.

        Raises:
            OutputError: when an address cannot be listened on.
        """
        with ExitStack() as serving:
            if self.monitoring is not None:
                serving.enter_context(self.monitoring.served())
            yield None if self.audience is None else serving.enter_context(self.audience.served())

    def _viewers(self) -> int:
        return 0 if self.audience is None else self.audience.viewers
