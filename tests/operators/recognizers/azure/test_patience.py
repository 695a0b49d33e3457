"""Waits grow and are spread; patience ends where speech gets no answer, and only there."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.events import SAMPLE_RATE
from operators.recognizers.azure.patience import Patience, Waits


def middle(least: float, most: float) -> float:
    return (least + most) / 2


def sound(seconds: float, loudness: int) -> bytes:
    return np.full(round(seconds * SAMPLE_RATE), loudness, "<i2").tobytes()


class Clock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def listen(patience: Patience, clock: Clock, *heard: tuple[float, int]) -> bool:
    """Hear sounds (seconds, loudness) as they are made: whether patience is over after them."""
    for seconds, loudness in heard:
        for _ in range(round(seconds * 10)):
            patience.add_audio(sound(0.1, loudness))
            clock.now_s += 0.1
    return patience.is_over


def patience_of(answer_s: float) -> tuple[Patience, Clock]:
    clock = Clock()
    patience = Patience(answer_s, clock)
    listen(patience, clock, (0.2, 5))
    return patience, clock


def test_waits_double_up_to_the_longest_and_begin_again_after_success() -> None:
    waits = Waits(30, middle)

    assert [waits.next_s() for _ in range(8)] == [0.5, 1, 2, 4, 8, 16, 30, 30]
    assert waits.is_longest
    waits.reset()
    assert not waits.is_longest
    assert waits.next_s() == 0.5


@given(st.floats(0.01, 100))
def test_waits_are_spread_and_never_longer_than_the_longest(longest_s: float) -> None:
    for random in (min, max):
        spread: Callable[[float, float], float] = random
        waits = Waits(longest_s, spread)
        assert all(0 < waits.next_s() <= longest_s for _ in range(12))
    assert Waits(30, min).next_s() < Waits(30, max).next_s()


def test_speech_without_an_answer_ends_patience() -> None:
    patience, clock = patience_of(10)

    assert not listen(patience, clock, (9.5, 3000))
    assert listen(patience, clock, (0.6, 3000))


def test_an_answer_renews_it() -> None:
    patience, clock = patience_of(10)
    listen(patience, clock, (9, 3000))
    patience.answered()

    assert not listen(patience, clock, (9, 3000))


def test_silence_and_steady_noise_need_no_answer() -> None:
    patience, clock = patience_of(1)
    assert not listen(patience, clock, (60, 100))

    clock = Clock()
    patience = Patience(1, clock)
    assert not listen(patience, clock, (60, 2000))


def test_time_counts_from_the_first_sound() -> None:
    patience, clock = patience_of(10)

    assert not listen(patience, clock, (60, 0), (6, 3000))
    assert not listen(patience, clock, (3, 0))
    assert listen(patience, clock, (1.5, 0))


def test_a_cough_needs_no_answer() -> None:
    patience, clock = patience_of(10)

    assert not listen(patience, clock, (1, 3000), (60, 10))


def test_audio_that_is_sent_again_at_once_leaves_time_to_answer() -> None:
    patience, clock = patience_of(10)
    patience.begin()
    patience.add_audio(sound(60, 3000))

    assert not patience.is_over
    clock.now_s += 10
    assert patience.is_over


def test_where_nothing_ever_answers_patience_doubles_up_to_eight_times() -> None:
    patience, clock = patience_of(1)
    limits = []
    for _ in range(5):
        patience.begin()
        seconds = 0.0
        while not listen(patience, clock, (0.5, 3000), (0.1, 0)):
            seconds += 0.6
        limits.append(seconds)
        patience.gave_up()
    assert limits == pytest.approx([1, 2, 4, 8, 8], abs=0.7)
    patience.answered()
    assert listen(patience, clock, (1.1, 3000))
