"""Recorded speech as the windows that a recogniser hears."""

import numpy as np

from operators.recognizers.windowed.segmenter import Samples
from tests.operators.recognizers.speaking import pcm


def samples(name: str = "beckett.wav", seconds: float = 60.0) -> Samples:
    """A recording in a wheel, from its beginning."""
    return np.frombuffer(pcm(name, seconds), "<i2").astype(np.float32) / 32768.0


def windows(audio: Samples, step_s: float = 0.5) -> list[Samples]:
    """The audio as it grows."""
    step = round(step_s * 16_000)
    return [audio[:end] for end in range(step, len(audio), step)] + [audio]
