"""Channels are averaged, unless that would silence them."""

import numpy as np
import pytest
from numpy.typing import NDArray

from operators.mono import mono

Floats = NDArray[np.float32]
MADE = np.random.default_rng(3)
SAID, OTHER = (MADE.normal(0, 0.1, 8000).astype(np.float32) for _ in range(2))
SILENT = np.zeros_like(SAID)


@pytest.mark.parametrize(
    ("channels", "wanted"),
    [
        ([SAID], SAID),
        ([SAID, SAID], SAID),
        ([SAID, OTHER], (SAID + OTHER) / 2),
        ([SAID, SILENT], SAID / 2),
        ([SILENT] * 7 + [SAID], SAID / 8),
        ([SILENT, SILENT], SILENT),
        ([SAID, -SAID], SAID),
        ([0.95 * SAID, -SAID], 0.95 * SAID),
        ([0.7 * SAID, -SAID], -SAID),
        ([SILENT, SAID, -SAID + 0.01 * OTHER], SAID),
    ],
    ids=[
        "one", "twice the same", "independent", "one silent", "one of eight", "silence", "inverted",
        "about as loud", "louder", "a third",
    ],
)  # fmt: skip
def test_the_mean_of_the_channels_or_the_loudest_where_it_cancels(
    channels: list[Floats], wanted: Floats
) -> None:
    np.testing.assert_allclose(mono(np.stack(channels, axis=1)), wanted, atol=1e-6)
