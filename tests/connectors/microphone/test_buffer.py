"""Times and sound stay true: what is lost between two blocks moves the stream's clock, and is counted."""

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from connectors.microphone.buffer import CaptureBuffer
from operators.events import SAMPLE_RATE


class Device:
    """Gives blocks of 10 ms to a buffer, at the times that a test says."""

    def __init__(self, *, capacity_s: float = 30.0, rate: int = SAMPLE_RATE) -> None:
        self.present = 100.0
        self.rate = rate
        self.buffer = CaptureBuffer(capacity_s, clock=lambda: self.present)
        self.buffer.opened(rate, 1)

    def speak(self, seconds: float, *, takes_s: float | None = None) -> None:
        """Record for a while; on a bad clock that takes longer or shorter."""
        frames = self.rate // 100
        for _ in range(round(seconds * 100)):
            self.present += 0.01 if takes_s is None else takes_s / (seconds * 100)
            self.buffer.put(bytes(2 * frames), frames)

    def spans(self) -> list[tuple[float, float]]:
        """Where the chunks that wait begin and end, in seconds."""
        taken = self.buffer.take(is_over=True)
        return [(at / SAMPLE_RATE, (at + len(pcm) // 2) / SAMPLE_RATE) for at, pcm in taken]

    def gaps(self) -> list[Any]:
        """What is missing between the chunks that wait, to be compared within a millisecond."""
        steps = [after[0] - before[1] for before, after in itertools.pairwise(self.spans())]
        return [pytest.approx(step, abs=1e-3) for step in steps if abs(step) > 1e-3]


def test_the_clock_begins_with_the_first_sample() -> None:
    device = Device()
    assert device.buffer.now() == 0
    device.present += 7
    device.speak(0.05)
    assert device.spans() == [(0, 0.05)]
    assert device.buffer.now() == pytest.approx(0.05)


def test_a_loss_that_nobody_reports_is_found_by_the_wall_clock() -> None:
    device = Device()
    device.speak(1.0)
    device.present += 0.5
    device.speak(5.0)
    assert device.gaps() == [0.5]
    assert device.buffer.lost_s == pytest.approx(0.5)


@pytest.mark.parametrize(("pause_s", "times"), [(3.0, 1), (0.2, 50)])
def test_a_burst_after_a_pause_is_no_loss(pause_s: float, times: int) -> None:
    device = Device()
    device.speak(5.0)
    for _ in range(times):
        device.present += pause_s
        device.speak(pause_s, takes_s=0.01)
    device.speak(5.0)
    assert device.gaps() == []
    assert device.buffer.lost_s == 0


@pytest.mark.parametrize("drift", [-3e-4, 3e-4])
def test_a_sound_card_whose_clock_is_slow_or_fast_is_followed_without_a_loss(drift: float) -> None:
    device, heard_s = Device(capacity_s=600), 0.0
    for _ in range(20):
        device.speak(60.0, takes_s=60.0 * (1 + drift))
        assert device.gaps() == []
        heard_s += 60.0
        assert -1e-6 <= device.buffer.now() - heard_s < 0.01

    # What is missing is found all the same.
    device.present += 0.5
    device.speak(5.0)
    assert device.gaps() == [pytest.approx(0.5, abs=0.01)]
    assert device.buffer.lost_s == pytest.approx(0.5, abs=0.01)


def test_no_sample_comes_before_it_was_spoken() -> None:
    # The first block was late, or the device's clock is fast.
    device = Device(capacity_s=600)
    device.speak(100.0, takes_s=99.0)
    spans = device.spans()
    assert [start for start, _ in spans] == pytest.approx([number / 10 for number in range(1000)])
    assert device.buffer.now() >= spans[-1][1] - 1e-9


def test_a_buffer_that_is_full_keeps_the_newest_and_counts_the_rest() -> None:
    device = Device(capacity_s=1.0)
    device.speak(3.0)
    spans = device.spans()
    assert (spans[0][0], spans[-1][1]) == pytest.approx((2.0, 3.0))
    assert device.buffer.lost_s == pytest.approx(2.0)
    device.speak(0.02)
    assert device.spans() == [pytest.approx((3.0, 3.02))]


@pytest.mark.parametrize("rates", [(SAMPLE_RATE, SAMPLE_RATE), (48_000, 44_100)])
def test_a_device_that_comes_back_goes_on_at_the_time_it_is(rates: tuple[int, int]) -> None:
    device = Device(rate=rates[0])
    device.speak(1.0)
    device.present += 60
    device.rate = rates[1]
    device.buffer.opened(rates[1], 1)
    assert device.buffer.last is None
    device.speak(1.0)
    assert device.buffer.now() == pytest.approx(62)
    assert device.buffer.absent_s == pytest.approx(60)
    assert device.gaps() == [60.0]


def tone(seconds: float, rate: int, channels: int) -> NDArray[np.int16]:
    """Every second channel is inverted."""
    mono = 8000 * np.sin(2 * np.pi * 220 * np.arange(round(seconds * rate)) / rate)
    return (mono[:, None] * (-1) ** np.arange(channels)).astype("<i2")


def heard(samples: NDArray[np.int16], rate: int) -> NDArray[np.int16]:
    """What comes out where samples are recorded, whose pieces follow each other without a gap."""
    buffer = CaptureBuffer(30.0, clock=lambda: 0.0)
    buffer.opened(rate, samples.shape[1])
    for at in range(0, len(samples), 441):
        buffer.put(samples[at : at + 441].tobytes(), len(samples[at : at + 441]))
    pieces, position = buffer.take(is_over=True), 0
    for start, pcm in pieces:
        assert start == position
        position += len(pcm) // 2
    return np.frombuffer(b"".join(pcm for _, pcm in pieces), "<i2")


@pytest.mark.parametrize(("rate", "channels"), [(16_000, 2), (44_100, 1), (8_000, 6)])
def test_the_sound_and_its_place_stay(rate: int, channels: int) -> None:
    sound = heard(tone(2.0, rate, channels), rate)
    assert len(sound) == pytest.approx(32_000, abs=2)
    assert np.abs(sound[800:31_000].astype(int) - tone(2.0, SAMPLE_RATE, 1)[800:31_000, 0]).max() < 10
