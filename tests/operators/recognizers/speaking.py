"""Recorded speech: as chunks, samples and windows."""

from functools import cache
from pathlib import Path

import numpy as np

from connectors.audio.decoder import open_audio
from connectors.models.speech import speech_models
from operators.events import SAMPLE_RATE, AudioChunk
from operators.recognizers.moonshine import bundled_model
from operators.recognizers.segmenter import Samples, Segmenter, Window, silero


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


def silence(seconds: float) -> bytes:
    return bytes(2 * round(seconds * SAMPLE_RATE))


def samples(name: str = "beckett.wav", seconds: float = 60.0) -> Samples:
    """A recording in a wheel, from its beginning."""
    return np.frombuffer(pcm(name, seconds), "<i2").astype(np.float32) / 32768.0


def voiced(name: str, seconds: float) -> list[Window]:
    """The windows of a recording as a recogniser cuts it."""
    segmenter = Segmenter(silero(), 0.5)
    return [*segmenter.accept(samples(name, seconds)), *segmenter.finish()]


@cache
def whisper_base() -> Path:
    """The folder of the model that the packages bring."""
    return speech_models()["base"].fetch()
