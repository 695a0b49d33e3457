"""Sentences cut where speakers pause, as recognisers cut them."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from operators.training.interrupted import interrupt, pieces_of
from operators.training.pairs import Pair

WORDS = ["The", "book", "was", "printed,", "which", "nobody", "knew,", "in", "the", "city", "of", "Mainz."]


def test_a_pair_is_cut_where_both_sides_mark_a_clause() -> None:
    pair = Pair.of("When it rains, we stay at home.", "Wenn es regnet, bleiben wir zu Hause.",
                   [1, 2, 3, 3, 5, 5, 7], "de")  # fmt: skip
    assert [(" ".join(one.source), "".join(one.target)) for one in pieces_of(pair)] == [
        ("When it rains.", "Wenn es regnet."), ("We stay at home.", "Bleiben wir zu Hause."),
    ]  # fmt: skip


def test_a_pair_whose_sides_mark_no_common_clause_is_not_cut() -> None:
    assert not pieces_of(Pair.of("We stay, of course.", "Wir bleiben natürlich.", [1, 2, 2, 3], "de"))


@given(st.integers(0, 10**6), st.integers(1, len(WORDS)))
def test_an_interruption_is_a_full_stop_and_a_capital_and_changes_no_word(seed: int, length: int) -> None:
    words = WORDS[:length]
    heard = interrupt(words, Random(seed))
    assert [word.strip(".,").lower() for word in heard] == [word.strip(".,").lower() for word in words]
    changed = [at for at, (left, right) in enumerate(zip(words, heard, strict=True)) if left != right]
    if changed:
        stopped = changed[0]
        assert heard[stopped].endswith(".")
        assert heard[stopped + 1][0].isupper()
    else:
        assert length < 4
