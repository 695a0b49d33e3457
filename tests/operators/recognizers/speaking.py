"""Recorded speech as chunks, and a recogniser that hears words where the audio is not silent."""

from collections.abc import Sequence
from functools import cache

import numpy as np
from typing_extensions import override

from connectors.audio.decoder import open_audio
from operators.events import SAMPLE_RATE, AudioChunk
from operators.recognizers.moonshine import bundled_model
from operators.recognizers.protocol import Hypothesis, Recognizer
from operators.recognizers.windowed import Samples, Segmenter, Window, silero


@cache
def pcm(name: str, seconds: float = 60.0) -> bytes:
    """16 kHz samples of a recording in the recogniser's wheel, from its beginning."""
    whole = b"".join(open_audio(bundled_model().parent / name).blocks())
    return whole[: 2 * round(seconds * SAMPLE_RATE)]


def chunks(audio: bytes, chunk_s: float = 0.1, start_s: float = 0.0) -> list[AudioChunk]:
    size = 2 * round(chunk_s * SAMPLE_RATE)
    return [
        AudioChunk(stream="talk", start_s=start_s + at / (2 * SAMPLE_RATE), pcm=audio[at : at + size])
        for at in range(0, len(audio), size)
    ]


def tone(seconds: float) -> bytes:
    """Audio that `ToneRecognizer` takes for speech."""
    return np.full(round(seconds * SAMPLE_RATE), 5000, "<i2").tobytes()


def silence(seconds: float) -> bytes:
    return bytes(2 * round(seconds * SAMPLE_RATE))


class ToneRecognizer(Recognizer):
    """A word for each tenth of a second of tone; a tenth of silence ends the segment. Chunks are tenths."""

    def __init__(self) -> None:
        self._segment = 0
        self._words = 0
        self._start_s = self._end_s = 0.0

    @override
    def accept(self, chunk: AudioChunk) -> Sequence[Hypothesis]:
        ended: Sequence[Hypothesis] = []
        if abs(chunk.start_s - self._end_s) > 0.01:
            ended = self.finish()
        is_speech = any(chunk.pcm)
        if not is_speech and not self._words:
            self._end_s = chunk.start_s + chunk.duration_s
            return ended
        if not self._words:
            self._start_s = chunk.start_s
        self._end_s = chunk.start_s + chunk.duration_s
        self._words += is_speech
        return [*ended, self._hypothesis(is_final=not is_speech)]

    @override
    def finish(self) -> Sequence[Hypothesis]:
        return [self._hypothesis(is_final=True)] if self._words else []

    @override
    def close(self) -> None:
        pass

    def _hypothesis(self, *, is_final: bool) -> Hypothesis:
        hypothesis = Hypothesis(
            segment=self._segment,
            text=" ".join(["word"] * self._words),
            is_final=is_final,
            start_s=self._start_s,
            end_s=self._end_s,
        )
        if is_final:
            self._segment += 1
            self._words = 0
        return hypothesis


def samples(name: str = "beckett.wav", seconds: float = 60.0) -> Samples:
    """A recording in a wheel, from its beginning."""
    return np.frombuffer(pcm(name, seconds), "<i2").astype(np.float32) / 32768.0


def voiced(name: str, seconds: float) -> list[Window]:
    """The windows of a recording as a recogniser cuts it."""
    segmenter = Segmenter(silero(), 0.5)
    return [*segmenter.accept(samples(name, seconds)), *segmenter.finish()]


def windows(audio: Samples, step_s: float = 0.5) -> list[Samples]:
    """The audio as it grows."""
    step = round(step_s * 16_000)
    return [audio[:end] for end in range(step, len(audio), step)] + [audio]
