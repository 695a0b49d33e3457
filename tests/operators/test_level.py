"""A meter's figures are those that audio engineers know."""

import math

import numpy as np
import pytest

from operators.level import level


def test_a_sine_at_full_scale_peaks_at_0() -> None:
    sine = np.rint(32767 * np.sin(2 * np.pi * np.arange(1600) / 16)).astype("<i2")

    assert level(sine.tobytes()).peak_dbfs == pytest.approx(0, abs=0.001)


def test_half_the_amplitude_is_6_decibels_less() -> None:
    found = level(np.array([16384, -16384] * 80, "<i2").tobytes())

    assert found.peak_dbfs == pytest.approx(-6.02, abs=0.001)


def test_the_most_negative_sample_is_full_scale() -> None:
    assert level(np.array([-32768, 0], "<i2").tobytes()).peak_dbfs == 0


@pytest.mark.parametrize("pcm", [b"", b"\0", bytes(3200)], ids=["nothing", "half a sample", "zeros"])
def test_silence_is_infinitely_quiet(pcm: bytes) -> None:
    found = level(pcm)

    assert found.peak_dbfs == -math.inf
