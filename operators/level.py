"""The level of audio, for a meter: is there any sound, and is it too loud?"""

import math

import msgspec
import numpy as np

# The largest amplitude of 16-bit samples.
_FULL_SCALE = 32_768.0


class Level(msgspec.Struct, frozen=True, kw_only=True):
    """The level of some samples in dBFS: 0 is the largest amplitude, silence is minus infinity."""

    #: The loudest sample.
    peak_dbfs: float


def level(pcm: bytes) -> Level:
    """The level of 16-bit signed little-endian samples; empty input is silence, half a sample is ignored."""
    samples = np.frombuffer(pcm, "<i2", count=len(pcm) // 2).astype(np.float64)
    if not samples.size:
        return Level(peak_dbfs=-math.inf)
    return Level(peak_dbfs=_decibels(float(np.abs(samples).max())))


def _decibels(amplitude: float) -> float:
    return 20 * math.log10(amplitude / _FULL_SCALE) if amplitude > 0 else -math.inf
