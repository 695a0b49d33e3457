"""The rules by which a proposed token stands."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.decoding.acceptance import (
    BIAS,
    EXACT,
    RULES,
    Acceptance,
    BiasedAcceptance,
    DistanceAcceptance,
    MarginAcceptance,
    MinimumBlock,
    TopAcceptance,
    UtilityAcceptance,
    acceptance,
)

drafts = st.integers(0, 2**32 - 1).map(
    lambda seed: np.random.default_rng(seed).normal(scale=2, size=(8, 9)).astype(np.float32)
)
rows = drafts.map(lambda drawn: drawn[0])
blocks = st.lists(st.integers(0, 8), max_size=8)


def taken(rule: Acceptance, row: np.ndarray) -> set[int]:
    best = int(row.argmax())
    return {token for token in range(len(row)) if token == best or rule.accepts(row, best, token)}


def standing(rule: Acceptance, rows: np.ndarray, proposed: list[int]) -> int:
    return rule.accepted_length(rows, rows.argmax(axis=1).tolist(), proposed)


@given(rows)
def test_the_strictest_of_every_rule_is_exact(row: np.ndarray) -> None:
    margins = MarginAcceptance(0.0), BiasedAcceptance(0.0)
    others = DistanceAcceptance(0.0), MinimumBlock(EXACT, 1), UtilityAcceptance(0.0)
    assert all(taken(rule, row) == {int(row.argmax())} for rule in (EXACT, *margins, *others))


@given(drafts, blocks, st.sampled_from([name.replace("N", "1") for name in RULES]))
def test_every_rule_accepts_what_the_model_would_say_and_a_beginning_of_a_draft_however_it_is_split(
    rows: np.ndarray, proposed: list[int], name: str
) -> None:
    rule, own = (
        acceptance(name, BIAS, lambda tokens: np.eye(9, 4, dtype=np.float32)[tokens]),
        rows.argmax(axis=1).tolist(),
    )
    assert standing(rule, rows, own) == len(own)
    accepted = standing(rule, rows, proposed)
    assert 0 <= accepted <= len(proposed)
    assert standing(rule, rows, proposed[:accepted]) == accepted


@given(rows, st.integers(1, 9))
def test_the_k_likeliest_tokens_are_those_of_a_sorted_row(row: np.ndarray, k: int) -> None:
    assert taken(TopAcceptance(k), row) == set(np.argsort(-row)[:k].tolist())


@pytest.mark.parametrize(
    ("epsilon", "stand"), [(0.0, {0}), (0.2, {0, 1}), (1.0, {0, 1, 2}), (2.0, {0, 1, 2, 3})]
)
def test_a_token_stands_whose_embedding_is_near_that_of_the_best_however_probable_it_is(
    epsilon: float, stand: set[int]
) -> None:
    # Nearly the direction of the first, at a right angle to it, opposite; the last has no direction.
    words = np.array([[2, 0], [3, 1], [0, 1], [-1, 0], [0, 0]], np.float32)
    rule = acceptance(f"near-{epsilon}", embeddings=lambda tokens: words[tokens])
    assert taken(rule, np.array([9, -9, 8, -9, 8], np.float32)) == stand


@given(drafts, blocks, st.integers(1, 5))
def test_the_first_tokens_of_a_minimum_block_stand_unseen_and_those_after_them_by_the_rule(
    rows: np.ndarray, proposed: list[int], size: int
) -> None:
    unseen = min(size - 1, len(proposed))
    after = standing(EXACT, rows[unseen:], proposed[unseen:])
    assert standing(MinimumBlock(EXACT, size), rows, proposed) == unseen + after


@given(drafts, blocks, st.floats(0.0, 8.0))
def test_the_utility_of_a_cut_is_the_greatest_of_all_cuts(
    rows: np.ndarray, proposed: list[int], price: float
) -> None:
    lost = [float(row.max() - row[token]) for row, token in zip(rows, proposed, strict=False)]
    # No cut at all is the last of these.
    utility = [sum(lost[place:]) - price * (len(lost) - place) for place in range(len(lost) + 1)]
    got = standing(UtilityAcceptance(price), rows, proposed)
    assert utility[got] == pytest.approx(max(utility), abs=1e-4)
