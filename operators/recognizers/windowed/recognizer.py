"""A recogniser of growing windows: cuts the stream into utterances and transcribes each of their windows.

An engine adds what encodes and decodes a window (`DraftingTranscriber`).
"""

from collections.abc import Callable, Sequence, Set

import numpy as np
from typing_extensions import override

from operators.events import SAMPLE_RATE, AudioChunk
from operators.notifications import RecognizerChanged
from operators.recognizers.part import MIN_GAP_S, USUAL, check_interval
from operators.recognizers.protocol import Hypothesis, Recognizer
from operators.recognizers.windowed.method import DraftingTranscriber
from operators.recognizers.windowed.segmenter import (
    Samples,
    Segmenter,
    Window,
    silero,
)
from operators.trouble import ModelTrouble


class WindowedRecognizer(Recognizer):
    """Recognises one stream; the hypotheses depend only on the audio, not on how it is cut into chunks.

    Args:
        transcriber: The engine.
        update_interval_s: Seconds of audio between two hypotheses, from 0.1 to 10.
        observe: Told what goes wrong.
    """

    def __init__(
        self,
        transcriber: DraftingTranscriber,
        *,
        update_interval_s: float = USUAL.update_interval_s,
        observe: Callable[[RecognizerChanged], None] = lambda _changed: None,
    ) -> None:
        check_interval(update_interval_s)
        self.transcriber = transcriber
        self._interval_s = update_interval_s
        self._observe = observe
        self._segmenter: Segmenter | None = None
        #: When the segmenter's first sample sounded, and the number of its first segment.
        self._base_s = 0.0
        self._first = self._next = 0
        self._last_text = ""
        self._is_failing = False

    def expect(self, words: Set[str]) -> None:
        """Lean towards these words, if the engine can."""
        self.transcriber.expect(words)

    @override
    def accept(self, chunk: AudioChunk) -> Sequence[Hypothesis]:
        hypotheses: list[Hypothesis] = []
        if self._segmenter is None or abs(chunk.start_s - self._time(self._segmenter.position)) > MIN_GAP_S:
            hypotheses += self.finish()
            self._segmenter = Segmenter(silero(), self._interval_s, self.transcriber.rules)
            self._base_s, self._first = chunk.start_s, self._next
        windows = self._segmenter.accept(_samples(chunk.pcm))
        return [*hypotheses, *(self._hypothesis(window) for window in windows)]

    @override
    def finish(self) -> Sequence[Hypothesis]:
        if self._segmenter is None:
            return []
        windows = self._segmenter.finish()
        self._segmenter = None
        return [self._hypothesis(window) for window in windows]

    @override
    def close(self) -> None:
        self._segmenter = None

    def _time(self, position: int) -> float:
        return self._base_s + position / SAMPLE_RATE

    def _hypothesis(self, window: Window) -> Hypothesis:
        text = self._transcribe(window)
        self._last_text = "" if window.is_final or text is None else text
        self._next = self._first + window.segment + window.is_final
        return Hypothesis(
            segment=self._first + window.segment,
            text=text or "",
            is_final=window.is_final,
            start_s=self._time(window.start),
            end_s=self._time(window.end),
            is_doubtful=text is None,
        )

    def _transcribe(self, window: Window) -> str | None:
        """The window's text, None for doubtful; if the model fails, that of the window before.

        A final is tried twice.
        """
        for _try in range(1 + window.is_final):
            try:
                text = self.transcriber.transcribe(window)
            except ModelTrouble as trouble:
                if not self._is_failing:
                    sentence = f"{trouble}; the text stays as it was, and the next update tries again"
                    self._observe(RecognizerChanged(sentence))
                self._is_failing = True
            else:
                self._is_failing = False
                return text
        return self._last_text


def _samples(pcm: bytes) -> Samples:
    return np.frombuffer(pcm[: len(pcm) // 2 * 2], "<i2").astype(np.float32) / 32768.0
