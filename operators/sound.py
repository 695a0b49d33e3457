"""Sound: mixed to one channel, and its level, for a meter."""

import math

import msgspec
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

# The channels cancel each other if their mean has less than this share of the power that it would have if
# they were independent: one is the other one inverted, as with a wrongly soldered cable.
_CANCELLED = 0.1
# A channel is as loud as the loudest one from this share of its power on. Otherwise the choice between two
# inverted channels would change with every block.
_AS_LOUD = 0.8


def mono(frames: Floats) -> Floats:
    """The mean of the channels of a block, or its loudest channel if they cancel each other.

    ``frames`` has shape (frames, channels), and the result (frames,).
    """
    mixed: Floats = frames.mean(axis=1, dtype=np.float32)
    count = frames.shape[1]
    if count == 1:
        return mixed
    powers = np.einsum("fc,fc->c", frames, frames, dtype=np.float64)
    power = np.dot(mixed.astype(np.float64), mixed) * count**2
    if power >= _CANCELLED * powers.sum():
        return mixed
    return frames[:, np.argmax(powers >= _AS_LOUD * powers.max())]


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
