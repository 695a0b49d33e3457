"""Whisper's features: log-mel spectrograms (Radford et al. 2022, section 2.2).

Windows of 25 ms every 10 ms, mel bands on Slaney's scale, the logarithm to base 10 clipped to 8 below its
maximum, shifted and scaled to about -1 to 1.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from operators.events import SAMPLE_RATE
from operators.recognizers.windowed.voice import Samples

#: Samples between two frames.
HOP = 160
_WINDOW = 400
_FLOOR = 1e-10
# Slaney's scale: linear up to 1 kHz, 15 mels; then logarithmic, 27 mels for a factor of 6.4.
_BREAK_HZ, _BREAK_MEL = 1000.0, 15.0
_LOG_STEP = np.log(6.4) / 27.0

Features = NDArray[np.float32]


def log_mel(samples: Samples, bands: int) -> Features:
    """Features of shape (bands, frames), a frame for each full 160 of the samples.

    ``samples`` are at 16 kHz, float32 of shape (n,), n at least 400.
    """
    padded = np.pad(samples, _WINDOW // 2, mode="reflect")
    frames = np.lib.stride_tricks.sliding_window_view(padded, _WINDOW)[::HOP][: len(samples) // HOP]
    spectrum = np.fft.rfft(frames * _hann(), axis=1)
    power = (spectrum.real**2 + spectrum.imag**2).astype(np.float32)
    logs = np.log10(np.maximum(_filters(bands) @ power.T, _FLOOR))
    result: Features = (np.maximum(logs, logs.max() - 8.0) + 4.0) / 4.0
    return result


@cache
def _hann() -> NDArray[np.float32]:
    # The periodic window: np.hanning of one more, without its last value.
    return np.hanning(_WINDOW + 1)[:-1].astype(np.float32)


@cache
def _filters(bands: int) -> NDArray[np.float32]:
    """Triangles of equal area, shape (bands, 201): the share of each frequency in each band."""
    hz = np.fft.rfftfreq(_WINDOW, 1 / SAMPLE_RATE)
    highest = _BREAK_MEL + np.log(SAMPLE_RATE / 2 / _BREAK_HZ) / _LOG_STEP
    mels = np.linspace(0.0, highest, bands + 2)
    corners = np.where(
        mels < _BREAK_MEL,
        mels * _BREAK_HZ / _BREAK_MEL,
        _BREAK_HZ * np.exp(_LOG_STEP * (mels - _BREAK_MEL)),
    )
    below, peak, above = corners[:-2, None], corners[1:-1, None], corners[2:, None]
    rising, falling = (hz - below) / (peak - below), (above - hz) / (above - peak)
    triangles = np.maximum(0.0, np.minimum(rising, falling)) * (2.0 / (above - below))
    filters: NDArray[np.float32] = triangles.astype(np.float32)
    return filters
