"""What of a tree may be verified, and what of it stands."""

import msgspec
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from operators.decoding.acceptance import EXACT, BiasedAcceptance
from operators.decoding.tree import TokenTree
from operators.research.prediction import tree_draft, tree_of
from tests.operators.decoding.test_session import grown, spelled, texts


@given(texts, st.integers(0, 3), st.integers(0, 6))
def test_what_may_stand_has_all_that_comes_before_it(paths: list[list[int]], token: int, deep: int) -> None:
    tree = grown(paths)
    kept = tree_of(tree_draft(tree).within(deep, {token}))
    left = [path for path in (spelled(tree, node) for node in range(tree.size)) if token not in path]
    assert [spelled(kept, node) for node in range(kept.size)] == [path for path in left if len(path) <= deep]


def test_a_tree_under_a_lenient_rule_goes_on_with_what_that_lets_stand() -> None:
    rows = np.zeros((4, 5), np.float32)
    rows[:, 4] = 9.0
    draft = tree_draft(TokenTree((1, 2, 3), (-1, 0, 0)), (), BiasedAcceptance(1.0))
    verified = draft.verified(0, rows)
    assert (list(verified.path), verified.own) == ([0, 1], 4)
    rows[1, 3] = 10.0  # the model's own choice comes first
    assert list(draft.verified(0, rows).path) == [0, 2]
    assert list(msgspec.structs.replace(draft, acceptance=EXACT).verified(0, rows).path) == []
