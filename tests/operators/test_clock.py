"""Clocks of streams: what a delay is measured from."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.clock import LagClock

seconds = st.floats(0.0, 100.0)


@given(seconds, st.lists(st.tuples(st.floats(0.01, 5.0), seconds, st.floats(0.0, 1.0)), min_size=1))
def test_lag_is_the_delay_beyond_the_least_one(
    began_s: float, updates: list[tuple[float, float, float]]
) -> None:
    now = [0.0]
    clock, arrival_s, delays = LagClock(lambda: now[0]), 0.0, list[float]()
    for step_s, delay_s, spent_s in updates:
        arrival_s += step_s
        delays.append(delay_s)
        now[0] = began_s + arrival_s + delay_s
        clock.heard("talk", arrival_s)
        now[0] += spent_s
        done_s = clock.done("talk", arrival_s, spent_s)
        assert abs(done_s - (arrival_s + delay_s - min(delays) + spent_s)) < 1e-6
        assert done_s >= arrival_s + spent_s - 1e-6


@pytest.mark.parametrize("drift", [-3e-4, 3e-4])
def test_a_stream_whose_clock_is_slow_or_fast_is_as_late_after_a_day_as_at_first(drift: float) -> None:
    now = [0.0]
    clock = LagClock(lambda: now[0])
    for spoken_s in range(0, 86_400, 6):
        now[0] = spoken_s * (1 + drift)
        clock.heard("talk", spoken_s)
        now[0] += 0.1
        ready_s = clock.done("talk", spoken_s, 0.1)
        # What is shown was made here: its delay is no delay of the stream.
        assert spoken_s + 0.1 - 1e-6 <= clock.done("talk", ready_s, 0.0) < spoken_s + 0.6


def test_a_delay_of_a_quarter_of_an_hour_is_seen_and_a_clock_that_stood_still_is_forgotten() -> None:
    now = [0.0]
    clock = LagClock(lambda: now[0])
    clock.heard("talk", 0.0)
    # The producer's clock stood still for a night.
    for second in range(1, 3600):
        now[0] = 30_000.0 + second
        clock.heard("talk", second)
        late_s = clock.done("talk", second, 0.0) - second
        if second == 600:
            assert late_s == pytest.approx(0.0)
    # Its updates wait here for half a minute, time and again.
    for second in range(3600, 4500):
        now[0] = 30_030.0 + second
        clock.heard("talk", second)
    assert clock.done("talk", 4499.0, 0.0) == pytest.approx(4529.0)


def test_streams_have_clocks_of_their_own_and_silent_ones_are_forgotten() -> None:
    now = [1000.0]
    clock = LagClock(lambda: now[0])
    for number in range(10_001):
        clock.heard(f"talk{number}", 5.0)
    now[0] += 10.0
    assert clock.done("talk10000", 5.0, 1.0) == 15.0
    assert clock.done("talk0", 5.0, 1.0) == 6.0
