"""Quantiles in bounded memory: exact for few values, close for any number of them."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from operators.metrics.quantiles import MAX_ERROR, MAX_EXACT, Quantiles

seconds = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60)
shares = st.floats(0, 1)


def counted(values: list[float], exact: int) -> Quantiles:
    quantiles = Quantiles()
    quantiles.exact = exact
    for value in values:
        quantiles.add(value)
    return quantiles


@given(seconds, shares)
def test_few_values_give_what_numpy_gives(values: list[float], share: float) -> None:
    assert counted(values, 60).at(share, 0.5) == [np.quantile(values, share), np.quantile(values, 0.5)]


@given(seconds, shares)
@example([-0.3, 0.0, 2.0], 0.25)
@example([1e-6, 1e6], 1.0)
def test_many_values_are_off_by_half_a_per_cent_at_most(values: list[float], share: float) -> None:
    (found,) = counted(values, 0).at(share)
    rank, ordered = share * (len(values) - 1), sorted(values)
    greatest = max(abs(ordered[math.floor(rank)]), abs(ordered[math.ceil(rank)]))
    assert found == pytest.approx(np.quantile(values, share), abs=1.0001 * MAX_ERROR * greatest + 1e-6)


def test_the_step_from_few_values_to_many_loses_none() -> None:
    quantiles = counted([float(number) for number in range(MAX_EXACT)], MAX_EXACT)
    assert quantiles.at(1.0) == [MAX_EXACT - 1]
    quantiles.add(0.5 * MAX_EXACT)
    assert (quantiles.count, quantiles.total) == (MAX_EXACT + 1, sum(range(MAX_EXACT)) + 0.5 * MAX_EXACT)
    assert quantiles.at(0.0, 0.5, 1.0) == pytest.approx([0, MAX_EXACT / 2, MAX_EXACT - 1], rel=MAX_ERROR)


def test_what_no_clock_gives_is_counted_as_the_nearest_that_one_does() -> None:
    assert counted([math.inf, 1e300], 0).at(0.0, 1.0) == pytest.approx([1e6, 1e6], rel=MAX_ERROR)
    assert counted([1e-9, math.nan, -1e-300], 0).at(0.5) == [0.0]
