"""Features are what their definition says, computed the long way."""

import numpy as np
import pytest

from operators.recognizers.whisper.log_mel import log_mel

RATE = 16_000


def test_features_are_the_definition_computed_the_long_way() -> None:
    noise = np.random.default_rng(1).standard_normal(1600).astype(np.float32) * 0.1
    padded = np.concatenate((noise[200:0:-1], noise, noise[-2:-202:-1])).astype(np.float64)
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(400) / 400)
    wave = np.exp(-2j * np.pi * np.outer(np.arange(201), np.arange(400)) / 400)
    power = np.stack([np.abs(wave @ (window * padded[at : at + 400])) ** 2 for at in range(0, 1600, 160)])
    expected = np.zeros((80, 10))
    corners = [_hz(mel) for mel in np.linspace(0, 15 + 27 * np.log(8) / np.log(6.4), 82)]
    for band, (low, peak, high) in enumerate(zip(corners, corners[1:], corners[2:], strict=False)):
        for number, hz in enumerate(np.arange(201) * 40.0):
            weight = min((hz - low) / (peak - low), (high - hz) / (high - peak))
            if weight > 0:
                expected[band] += weight * 2 / (high - low) * power[:, number]
    logs = np.log10(np.maximum(expected, 1e-10))

    assert log_mel(noise, 80) == pytest.approx((np.maximum(logs, logs.max() - 8) + 4) / 4, abs=1e-4)


def test_silence_has_features_too() -> None:
    features = log_mel(np.zeros(RATE, np.float32), 128)

    assert features.shape == (128, 100)
    assert np.isfinite(features).all()


def _hz(mel: float) -> float:
    return float(mel * 1000 / 15 if mel < 15 else 1000 * 6.4 ** ((mel - 15) / 27))
