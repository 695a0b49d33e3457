"""Continuations of a text, evaluated together, have the probabilities that they have alone."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.models.continuations import LONGEST, MOST, Continuations, open_continuations
from operators.models.llama_model import LlamaModel
from operators.models.pool import SessionPool
from operators.trouble import ModelTrouble
from tests.toy import Letters, ToyCache, ToyStore

_texts = st.text("abcdef", min_size=1, max_size=6)


def _continuations(store: ToyStore | None = None) -> Continuations:
    return Continuations(Letters(), SessionPool(store or ToyStore(MOST + 2), Letters.begin, 1, branches=MOST))


def _alone(context: str, continuation: str) -> float:
    text = [*Letters.begin, *Letters().tokenize(context)]
    total = 0.0
    for token in Letters().tokenize(continuation):
        row = ToyCache().evaluate(text, 0, 1)[0].astype(np.float64)
        total += row[token] - np.log(np.exp(row).sum())
        text.append(token)
    return float(total)


@given(st.lists(st.tuples(_texts, st.lists(_texts, min_size=1, max_size=MOST)), min_size=1, max_size=4))
def test_one_pass_gives_each_continuation_its_own_probability(questions: list[tuple[str, list[str]]]) -> None:
    asked = _continuations()
    for context, continuations in questions:
        alone = [_alone(context, one) for one in continuations]
        assert asked.log_probabilities(context, continuations) == pytest.approx(alone, abs=1e-4)


def test_a_text_that_grows_costs_only_its_new_words() -> None:
    store = ToyStore(MOST + 2)
    asked = _continuations(store)
    asked.log_probabilities("abcdefabcdef", ["ab"])
    before = sum(cache.evaluated for cache in store.caches)
    asked.log_probabilities("abcdefabcdefab", ["cd"])
    # Two new letters, the last one before the seam anew for its logits, and one letter of what follows.
    after = sum(cache.evaluated for cache in store.caches)
    assert after - before <= 4
    asked.log_probabilities("abcdefabcdefab", ["cd"])
    assert sum(cache.evaluated for cache in store.caches) == after, "the same question costs nothing"


def test_long_continuations_count_with_their_beginning() -> None:
    long = "a" * LONGEST
    first, second = _continuations().log_probabilities("b", [long, long + "b"])
    assert first == second


@pytest.mark.parametrize("continuations", [["a"] * MOST, ["f", "ab"]])
def test_a_model_that_computes_no_numbers_is_trouble(continuations: Sequence[str]) -> None:
    with pytest.raises(ModelTrouble):
        _continuations(_Broken(MOST + 2)).log_probabilities("b", continuations)


def test_the_base_model_knows_a_small_letter_from_a_capital_within_a_sentence(model: LlamaModel) -> None:
    asked = open_continuations(model, 2)
    assert asked is not None
    small, large = asked.log_probabilities("The book is printed in letters", [" which were", " Which were"])
    assert small > large + 3
    again = asked.log_probabilities("The book is printed in letters", [" Which were"])
    assert again == pytest.approx([large], abs=1), "a cache that other questions have used answers the same"


class _Broken(ToyStore):
    def evaluate_placed(self, placed, rows):  # type: ignore[no-untyped-def]
        return super().evaluate_placed(placed, rows) * np.nan
