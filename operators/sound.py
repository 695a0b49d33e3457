"""Sound: mixed to one channel, and its peak level."""

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

# Independent channels give their mean a certain power. With less than this share of it the channels cancel
# each other: one is the other one inverted, as with a wrongly soldered cable.
_CANCELLED = 0.1
# A channel with at least this share of the greatest power counts as equally loud. Otherwise the choice
# between two inverted channels would change with every block.
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


def peak_dbfs(pcm: bytes) -> float:
    """Peak of 16-bit little-endian samples, 0 dBFS at most, -inf for silence; half a sample is ignored."""
    samples = np.frombuffer(pcm, "<i2", count=len(pcm) // 2).astype(np.float64)
    amplitude = float(np.abs(samples).max(initial=0.0))
    return 20 * math.log10(amplitude / _FULL_SCALE) if amplitude else -math.inf
