"""Blocks of any rate and layout become 16 kHz mono where they were recorded."""

import numpy as np
import pytest
from numpy.typing import NDArray

from connectors.microphone.buffer import Block, SampleRun
from connectors.microphone.resample import Resampler
from operators.events import SAMPLE_RATE


def tone(seconds: float, rate: int, channels: int) -> NDArray[np.int16]:
    mono = 8000 * np.sin(2 * np.pi * 220 * np.arange(round(seconds * rate)) / rate)
    return np.repeat(mono[:, None], channels, axis=1).astype("<i2")


def blocks(samples: NDArray[np.int16], run: SampleRun, size: int = 441) -> list[Block]:
    """The samples as a device would give them."""
    return [
        Block(run, at, len(samples[at : at + size]), samples[at : at + size].tobytes())
        for at in range(0, len(samples), size)
    ]


def heard(pieces: list[tuple[int, bytes]]) -> NDArray[np.int16]:
    """The sound of pieces that follow each other without a gap."""
    at = pieces[0][0]
    for start, pcm in pieces:
        assert start == at
        at += len(pcm) // 2
    return np.frombuffer(b"".join(pcm for _, pcm in pieces), "<i2")


@pytest.mark.parametrize(("rate", "channels"), [(16_000, 2), (44_100, 1), (48_000, 2), (8_000, 6)])
def test_the_sound_and_its_place_stay(rate: int, channels: int) -> None:
    resampler = Resampler()
    run = SampleRun(32_000, rate, channels)
    pieces = [*resampler.pieces(blocks(tone(2.0, rate, channels), run)), *resampler.rest()]

    assert pieces[0][0] == 32_000
    sound = heard(pieces)
    assert len(sound) == pytest.approx(32_000, abs=2)
    difference = sound[800:31_000].astype(int) - tone(2.0, SAMPLE_RATE, 1)[800:31_000, 0]
    assert np.abs(difference).max() < 10


def test_inverted_channels_are_heard() -> None:
    one = tone(1.0, 48_000, 1)
    resampler = Resampler()
    both = blocks(np.concatenate((one, -one), axis=1), SampleRun(0, 48_000, 2))

    assert np.abs(heard([*resampler.pieces(both), *resampler.rest()])).max() > 0.9 * np.abs(one).max()


def test_16_khz_mono_passes_unchanged_and_without_delay() -> None:
    samples = np.random.default_rng(7).integers(-9000, 9000, (5000, 1)).astype("<i2")

    assert np.array_equal(
        heard(list(Resampler().pieces(blocks(samples, SampleRun(0, 16_000, 1))))), samples[:, 0]
    )


def test_a_gap_stays_and_what_comes_before_it_is_heard_to_its_end() -> None:
    resampler = Resampler()
    run = SampleRun(0, 48_000, 1)
    whole = blocks(tone(1.0, 48_000, 1), run, size=4800)
    pieces = [*resampler.pieces(whole[:3] + whole[5:]), *resampler.rest()]

    starts = [start for start, pcm in pieces if pcm]
    again = next(index for index, start in enumerate(starts) if start >= 8000)
    assert starts[again] == 8000
    assert len(heard([piece for piece in pieces if piece[0] < 8000])) == pytest.approx(4800, abs=2)
    assert len(heard([piece for piece in pieces if piece[0] >= 8000])) == pytest.approx(8000, abs=2)
