"""No more is proposed than is worth its pass."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.decoding.pass_cost import FLAT, BlockLength, PassCosts


@given(st.lists(st.floats(0.0, 1.0), max_size=12), st.lists(st.floats(0.1, 9.0), min_size=1, max_size=5))
def test_no_other_length_brings_more_tokens_for_its_time(sure: list[float], steps: list[float]) -> None:
    costs = PassCosts(tuple(range(1, len(steps) + 1)), tuple(sum(steps[: n + 1]) for n in range(len(steps))))

    def rate(length: int) -> float:
        expected, alive = 1.0, 1.0
        for each in sure[:length]:
            alive *= each
            expected += alive
        return expected / costs.of(1 + length)

    chosen = BlockLength(costs, threshold=0.0).of(sure)
    assert rate(chosen) >= max(rate(length) for length in range(len(sure) + 1)) * (1 - 1e-9)


def test_costs_between_and_beyond_measured_sizes_lie_on_lines() -> None:
    costs = PassCosts((1, 4, 8), (11.0, 32.0, 40.0))
    assert [costs.of(size) for size in (1, 2, 4, 6, 8, 10)] == pytest.approx([11, 18, 32, 36, 40, 44])
    assert FLAT.of(100) == 1.0


def test_a_proposal_ends_before_what_is_not_sure_and_is_no_longer_than_it_may_be() -> None:
    assert BlockLength(FLAT, threshold=0.4).of([0.9, 0.4, 0.39, 1.0]) == 2
    assert BlockLength(longest=3).of([1.0] * 9) == 3
