"""Clocks of streams: what a delay is measured from."""

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
        now[0] = began_s + arrival_s + delay_s + spent_s
        done_s = clock.done("talk", arrival_s, spent_s)
        assert abs(done_s - (arrival_s + delay_s - min(delays) + spent_s)) < 1e-6
        assert done_s >= arrival_s + spent_s - 1e-6


def test_streams_have_clocks_of_their_own_and_silent_ones_are_forgotten() -> None:
    now = [1000.0]
    clock = LagClock(lambda: now[0])
    for number in range(10_001):
        assert clock.done(f"talk{number}", 5.0, 1.0) == 6.0
    now[0] += 10.0
    assert clock.done("talk10000", 5.0, 1.0) == 16.0
    assert clock.done("talk0", 5.0, 1.0) == 6.0
