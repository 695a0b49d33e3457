"""The rules by which a proposed token stands."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.decoding.acceptance import (
    EXACT,
    Acceptance,
    BiasedAcceptance,
    DistanceAcceptance,
    MinimumBlock,
    TopAcceptance,
)

rows = st.integers(0, 2**32 - 1).map(
    lambda seed: np.random.default_rng(seed).normal(scale=2, size=9).astype(np.float32)
)


def taken(rule: Acceptance, row: np.ndarray, place: int = 0) -> set[int]:
    best = int(row.argmax())
    return {token for token in range(len(row)) if token == best or rule.accepts(row, best, token, place)}


@given(rows)
def test_the_strictest_of_every_rule_is_exact(row: np.ndarray) -> None:
    exact = taken(EXACT, row)
    assert exact == {int(row.argmax())}
    rules = (TopAcceptance(1), DistanceAcceptance(0.0), BiasedAcceptance(0.0), MinimumBlock(EXACT, 1))
    assert all(taken(rule, row) == exact for rule in rules)


@given(rows, st.integers(1, 9))
def test_the_k_likeliest_tokens_are_those_of_a_sorted_row(row: np.ndarray, k: int) -> None:
    assert taken(TopAcceptance(k), row) == set(np.argsort(-row)[:k].tolist())


@given(rows, st.floats(0.0, 1.0))
def test_a_distance_is_one_of_probabilities(row: np.ndarray, distance: float) -> None:
    p = np.exp(row.astype(np.float64))
    p /= p.sum()
    near = p.max() - p
    got = taken(DistanceAcceptance(distance), row)
    assert got >= {n for n in range(9) if near[n] <= distance - 1e-6}
    assert got <= {n for n in range(9) if near[n] <= distance + 1e-6}


@given(rows, st.integers(1, 5), st.integers(0, 8))
def test_the_first_tokens_of_a_minimum_block_stand_unseen_and_those_after_them_by_the_rule(
    row: np.ndarray, size: int, place: int
) -> None:
    got = taken(MinimumBlock(EXACT, size), row, place)
    assert got == (set(range(9)) if place < size - 1 else taken(EXACT, row))


def test_rules_that_mean_nothing_are_refused() -> None:
    for make in (
        lambda: TopAcceptance(0),
        lambda: DistanceAcceptance(1.1),
        lambda: BiasedAcceptance(-0.1),
        lambda: MinimumBlock(EXACT, 0),
    ):
        with pytest.raises(ValueError, match=r"is|holds"):
            make()
