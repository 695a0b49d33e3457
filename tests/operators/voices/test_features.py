"""The mel spectrogram of the voice encoder, beside the formulas written out."""

from math import log

import numpy as np
import pytest

from operators.events import SAMPLE_RATE
from operators.voices.features import BANDS, FRAME, STEP, Floats, mel_frames, without_noise
from operators.voices.protocol import Samples


def noise(dbfs: float, count: int = FRAME) -> Samples:
    """Noise of this level, in root mean square."""
    made = np.random.default_rng(count).normal(0.0, 1.0, count)
    sound: Samples = (made / np.sqrt(np.mean(made**2)) * 10 ** (dbfs / 20)).astype(np.float32)
    return sound


def hertz(mel: float) -> float:
    """Slaney's scale: 15 steps of 66.7 Hz up to 1 kHz, and from there 27 steps up to 6.4 kHz."""
    return mel * 200 / 3 if mel <= 15 else 1000 * 6.4 ** ((mel - 15) / 27)


def reference(samples: Samples) -> Floats:
    """Bands of sound that is loud enough, by a Fourier transform that is written out."""
    at = np.arange(FRAME)
    waves = np.exp(-2j * np.pi * np.outer(np.arange(FRAME // 2 + 1), at) / FRAME)
    centres = np.arange(FRAME // 2 + 1) * SAMPLE_RATE / FRAME
    edges = [hertz(mel) for mel in np.linspace(0, 15 + 27 * log(8) / log(6.4), BANDS + 2)]
    assert edges[-1] == pytest.approx(SAMPLE_RATE / 2)
    rows = []
    for begin in range(0, len(samples) - FRAME + 1, STEP):
        power = np.abs(waves @ (samples[begin : begin + FRAME] * np.sin(np.pi * at / FRAME) ** 2)) ** 2
        bands = zip(edges, edges[1:], edges[2:], strict=False)
        rows.append([power @ np.interp(centres, band, (0, 2 / (band[2] - band[0]), 0)) for band in bands])
    return np.array(rows, np.float32)


@pytest.mark.parametrize(("count", "frames"), [(FRAME, 1), (FRAME + STEP - 1, 1), (FRAME + 2 * STEP, 3)])
def test_bands_are_those_of_slaney_in_frames_of_25_ms_every_10(count: int, frames: int) -> None:
    loud = noise(-20, count)
    made = mel_frames(loud)
    assert (made.shape, made.dtype.name) == ((frames, BANDS), "float32")
    np.testing.assert_allclose(made, reference(loud), rtol=1e-4)


def test_quiet_sound_is_raised_to_30_db_below_full_scale_and_louder_sound_stays() -> None:
    usual = reference(noise(-30))
    np.testing.assert_allclose(mel_frames(noise(-50)), usual, rtol=1e-3)
    np.testing.assert_allclose(mel_frames(noise(-24)), usual * 10**0.6, rtol=1e-3)


def test_silence_and_the_quietest_sound_there_is_make_numbers() -> None:
    quietest = np.zeros(30 * SAMPLE_RATE, np.float32)
    assert not mel_frames(quietest).any()
    quietest[1000] = 1 / 32768
    made = mel_frames(quietest)
    assert np.isfinite(made).all()
    assert made.any()


def test_a_noise_that_goes_on_is_left_out_and_what_comes_and_goes_stays() -> None:
    sound = mel_frames(noise(-20.0, SAMPLE_RATE))
    spoken = np.zeros_like(sound)
    spoken[10:60, 7] = 1000 * sound.max()
    heard = without_noise(sound + spoken)
    assert heard[10:60, 7] == pytest.approx(spoken[10:60, 7], rel=0.01)
    assert heard[:, 20].mean() < 0.5 * sound[:, 20].mean()
    assert (heard >= 0).all()
    # Speech without noise stays as it is.
    assert np.array_equal(without_noise(spoken), spoken)
