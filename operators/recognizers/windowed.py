"""Recognisers of growing windows: an engine transcribes each window of an utterance (`Transcriber`)."""

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence, Set
from threading import Event

import numpy as np
from typing_extensions import override

from operators.events import SAMPLE_RATE, AudioChunk
from operators.model_errors import ModelError
from operators.notifications import RecognizerChanged
from operators.recognizers.part import MIN_GAP_S, USUAL, Observe, RecognizerSettings, unobserved
from operators.recognizers.protocol import Change, Hypothesis, Recognizer
from operators.recognizers.segmenter import RULES, Segmenter, SegmentRules, Window, silero

_log = logging.getLogger(__name__)
_has_warned = Event()


class Transcriber(ABC):
    """Transcribes the windows of one stream; its state may depend on earlier windows of an utterance."""

    #: Code of the last window's language, if several may be spoken. It does not change in an utterance.
    language: str = ""

    @property
    def rules(self) -> SegmentRules:
        """When an utterance is over."""
        return RULES

    def expect(self, words: Set[str]) -> None:  # noqa: B027 - optional
        """Add a bias towards these words if they are names; called before any sound."""

    def keep_up(self) -> None:  # noqa: B027 - optional
        """Skip updates instead of lagging behind live sound; called before any sound."""

    @abstractmethod
    def transcribe(self, window: Window) -> str | None:
        """The text of a window; None for a doubtful final, which must not be shown.

        Raises `ModelError` if the model fails.
        """

    def again(self, window: Window) -> str | None:  # noqa: ARG002 - subclasses use it
        """The text of a doubtful final, in another language or by another model; None if there is no other.

        Raises `ModelError` if the model fails.
        """
        return None


class WindowedRecognizer(Recognizer):
    """Recognises one stream; the hypotheses depend only on the audio, not on how it is cut into chunks.

    Args:
        observe: Gets failures.
    """

    def __init__(
        self,
        transcriber: Transcriber,
        settings: RecognizerSettings = USUAL,
        observe: Observe = unobserved,
    ) -> None:
        self.transcriber = transcriber
        self._settings = settings
        self._observe = observe
        self._change: Change | None = None
        self._segmenter: Segmenter | None = None
        #: Time of the segmenter's first sample, and the number of its first segment.
        self._base_s = 0.0
        self._first = self._next = 0
        self._last_text = ""
        self._is_failing = False

    def expect(self, words: Set[str]) -> None:
        """Add a bias towards these words if they are names; called before any sound."""
        self.transcriber.expect(words)

    def part(self, change: Change) -> None:
        """See `PartsVoices`."""
        self._change = change

    def _changed(self, begin: int, end: int) -> tuple[int, int] | None:
        assert self._change is not None, "called only with a `change`"
        span = self._change(self._time(begin), self._time(end))
        return None if span is None else (self._position(span.begin_s), self._position(span.end_s))

    @override
    def accept(self, chunk: AudioChunk) -> Sequence[Hypothesis]:
        hypotheses: list[Hypothesis] = []
        if self._segmenter is None or abs(chunk.start_s - self._time(self._segmenter.position)) > MIN_GAP_S:
            hypotheses += self.finish()
            self._segmenter = Segmenter(
                silero(), self._settings.update_interval_s, self.transcriber.rules,
                None if self._change is None else self._changed,
            )  # fmt: skip
            self._base_s, self._first = chunk.start_s, self._next
        samples = np.frombuffer(chunk.pcm[: len(chunk.pcm) // 2 * 2], "<i2").astype(np.float32) / 32768.0
        for window in self._segmenter.accept(samples):
            hypotheses += self._hypotheses(window)
        return hypotheses

    @override
    def finish(self) -> Sequence[Hypothesis]:
        if self._segmenter is None:
            return []
        windows = self._segmenter.finish()
        self._segmenter = None
        return [hypothesis for window in windows for hypothesis in self._hypotheses(window)]

    @override
    def close(self) -> None:
        self._segmenter = None

    def _time(self, position: int) -> float:
        return self._base_s + position / SAMPLE_RATE

    def _position(self, moment_s: float) -> int:
        return round((moment_s - self._base_s) * SAMPLE_RATE)

    def _hypotheses(self, window: Window) -> list[Hypothesis]:
        text = self._try(self.transcriber.transcribe, window)
        if self._segmenter is not None:
            self._segmenter.rules = self.transcriber.rules
        self._last_text = "" if window.is_final or text is None else text
        hypotheses = [self._hypothesis(window, text)]
        if text is None:
            if (text := self._try(self.transcriber.again, window)) is not None:
                # The shown text is erased. A segment has one language, so the new text is another segment.
                self._first += 1
                hypotheses.append(self._hypothesis(window, text))
            else:
                _warn_doubt(len(window.samples) / SAMPLE_RATE)
        self._next = self._first + window.segment + window.is_final
        return hypotheses

    def _hypothesis(self, window: Window, text: str | None) -> Hypothesis:
        return Hypothesis(
            segment=self._first + window.segment,
            text=text or "",
            is_final=window.is_final,
            start_s=self._time(window.start),
            end_s=self._time(window.end),
            is_doubtful=text is None,
            language=self.transcriber.language,
        )

    def _try(self, transcribe: Callable[[Window], str | None], window: Window) -> str | None:
        """Transcribe; return the text of the window before if the model fails. A final is tried twice."""
        for _try in range(1 + window.is_final):
            try:
                text = transcribe(window)
            except ModelError as error:
                if not self._is_failing:
                    sentence = f"{error}; the text stays as it was, and the next update tries again"
                    self._observe(RecognizerChanged(sentence))
                self._is_failing = True
            else:
                self._is_failing = False
                return text
        return self._last_text


def _warn_doubt(seconds: float) -> None:
    if not _has_warned.is_set():
        _has_warned.set()
        _log.warning(
            "the recognised text of %.1f s of sound is doubtful and left out: perhaps the sound is not "
            "speech, or not in the language of --from; further cases are not logged",
            seconds,
            extra={"event": "speech_doubted"},
        )
