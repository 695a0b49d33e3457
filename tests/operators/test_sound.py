"""Channels are averaged, unless that would silence them."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from operators.sound import mono, peak_dbfs

Floats = NDArray[np.float32]
MADE = np.random.default_rng(3)
SAID, OTHER = (MADE.normal(0, 0.1, 8000).astype(np.float32) for _ in range(2))
SILENT = np.zeros_like(SAID)


@pytest.mark.parametrize(
    ("channels", "wanted"),
    [
        ([SAID], SAID),
        ([SAID, OTHER], (SAID + OTHER) / 2),
        ([SAID, SILENT], SAID / 2),
        ([SILENT, SILENT], SILENT),
        ([SAID, -SAID], SAID),
        ([0.95 * SAID, -SAID], 0.95 * SAID),
        ([0.7 * SAID, -SAID], -SAID),
        ([SILENT, SAID, -SAID + 0.01 * OTHER], SAID),
    ],
    ids=["one", "independent", "one silent", "silence", "inverted", "as loud", "louder", "a third"],
)
def test_the_mean_of_the_channels_or_the_loudest_where_it_cancels(
    channels: list[Floats], wanted: Floats
) -> None:
    np.testing.assert_allclose(mono(np.stack(channels, axis=1)), wanted, atol=1e-6)


@pytest.mark.parametrize(("samples", "dbfs"), [([32767, 0], 0), ([16384, -16384], -6.02), ([-32768, 0], 0)])
def test_the_level_is_that_of_the_loudest_sample(samples: list[int], dbfs: float) -> None:
    assert peak_dbfs(np.array(samples, "<i2").tobytes()) == pytest.approx(dbfs, abs=0.001)


@pytest.mark.parametrize("pcm", [b"", b"\0", bytes(3200)], ids=["nothing", "half a sample", "zeros"])
def test_silence_is_infinitely_quiet(pcm: bytes) -> None:
    assert peak_dbfs(pcm) == -math.inf
