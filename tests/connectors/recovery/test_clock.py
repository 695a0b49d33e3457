"""When nothing is remembered, because the wall clock was set back."""

import pytest

from connectors.recovery import SnapshotClock


class Clocks:
    """Two clocks that go on together, until one of them is set."""

    def __init__(self) -> None:
        self.steady_s, self.ahead_s = 100.0, 1e9
        self.looked_at = SnapshotClock(lambda: self.steady_s + self.ahead_s, lambda: self.steady_s)

    def after(self, seconds: float, *, set_by: float = 0.0) -> float | None:
        self.steady_s += seconds
        self.ahead_s += set_by
        return self.looked_at.check()


def test_a_clock_that_is_set_back_is_news_once_and_once_more_when_it_has_caught_up() -> None:
    clocks = Clocks()
    assert clocks.after(1) is None
    assert clocks.after(1, set_by=-3600) == pytest.approx(3600)
    assert clocks.after(1) is None
    assert clocks.after(3598) is None
    assert clocks.after(1) == 0
    assert clocks.after(1) is None


def test_a_clock_that_is_set_back_twice_has_to_catch_up_with_what_it_first_said() -> None:
    clocks = Clocks()
    clocks.after(1, set_by=-100)
    assert clocks.after(10, set_by=-50) == pytest.approx(140)
    assert clocks.after(139) is None
    assert clocks.after(1) == 0


def test_a_clock_that_is_set_right_again_has_caught_up() -> None:
    clocks = Clocks()
    clocks.after(1, set_by=-3600)
    assert clocks.after(1, set_by=3600) == 0


@pytest.mark.parametrize("seconds", [3600, 0.5, -0.5])
def test_a_clock_that_is_set_forward_or_by_little_is_no_news(seconds: float) -> None:
    clocks = Clocks()
    assert clocks.after(1, set_by=seconds) is None
    assert clocks.after(1) is None
