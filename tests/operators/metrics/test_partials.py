"""Words that were read before a final: those that the final has, and those that it has not."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from operators.metrics.lifespans import Support, final_prefix, pooled, support

WORDS = st.lists(st.sampled_from(["das", "Haus", "haus", "ist", "rot", ".", ",", "–"]), max_size=8)


def test_an_invented_ending_is_counted_word_by_word_and_marks_are_none() -> None:
    partial = ["Wir", "reden", "über", "die", "Art", ",", "wie", "man", "das", "tut", "."]
    final = ["Wir", "reden", "über", "den", "Bahnhof", ",", "der", "Museum", "wurde", "."]
    assert support(partial, [final]) == Support(words=9, unsupported=6)


def test_a_word_that_is_said_twice_is_supported_as_often_as_a_final_has_it() -> None:
    assert support(["sehr", "sehr", "gut"], [["sehr", "gut"]]) == Support(3, 1)
    assert support(["sehr", "sehr", "gut"], [["sehr"], ["sehr", "Sehr"]]) == Support(3, 1)


@given(WORDS, st.lists(WORDS, max_size=3), st.randoms())
def test_neither_place_nor_order_matters(partial: list[str], finals: list[list[str]], random: Random) -> None:
    found = support(partial, finals)
    assert 0 <= found.unsupported <= found.words <= len(partial)
    for text in (partial, *finals):
        random.shuffle(text)
    assert support(partial, finals) == found


@given(WORDS, WORDS, WORDS)
def test_what_a_final_has_is_supported_and_what_none_has_is_not(
    before: list[str], after: list[str], other: list[str]
) -> None:
    assert support(before, [other, [*after, *before]]).unsupported == 0
    found = support(before, [other])
    assert support([*before, "niemals"], [other]) == Support(found.words + 1, found.unsupported + 1)
    assert support(before, [other, after]).unsupported <= found.unsupported


def test_shares_are_pooled_over_all_updates() -> None:
    assert pooled([Support(1, 1), Support(9, 1), Support(0, 0)]) == 0.2
    assert pooled([]) is pooled([Support(0, 0)]) is None


@given(WORDS, WORDS)
def test_an_update_is_compared_with_as_many_words_of_the_final(partial: list[str], rest: list[str]) -> None:
    assert final_prefix(partial, [*partial, *rest]) == partial
    assert final_prefix([*partial, *rest], partial) == partial
