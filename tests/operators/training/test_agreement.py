"""Which words of a target wait for a later one that decides on their form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.training.agreement import waits


def waiting(text: str, language: str = "de") -> set[tuple[str, str]]:
    words = text.split()
    return {
        (word, words[at]) for word, at in zip(words, waits(words, language), strict=True) if words[at] != word
    }


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("Ich sehe das Haus.", {("das", "Haus.")}),
        ("Das ist ein großes, altes Haus.", {("ein", "Haus.")}),
        ("Das weiß ich nicht.", set()),
        ("Die Frau, die ich sah, lacht.", {("Die", "Frau,")}),
        ("keine zwei guten Freunde", {("keine", "Freunde")}),
        ("Er geht in den Wald", {("in", "Wald"), ("den", "Wald")}),
        ("Er geht im Wald", {("im", "Wald")}),
        ("Er wohnt in Berlin", set()),
        ("am 5. Mai", {("am", "Mai"), ("5.", "Mai")}),
        ("Kennst du das? Tom fragt.", set()),
    ],
)
def test_a_german_article_waits_for_its_noun(text: str, pairs: set[tuple[str, str]]) -> None:
    assert waiting(text) == pairs


@pytest.mark.parametrize(
    ("language", "text", "pairs"),
    [
        ("fr", "Je vois la belle maison", {("la", "belle")}),
        ("fr", "toutes les autres", {("les", "autres")}),
        ("es", "Vio a los otros niños", {("los", "niños"), ("otros", "niños")}),
        ("ja", "家 を 見る", set()),
    ],
)
def test_other_languages_have_rules_of_their_own_or_none(
    language: str, text: str, pairs: set[tuple[str, str]]
) -> None:
    assert waiting(text, language) == pairs


@given(
    st.lists(st.sampled_from(["der", "in", "alte", "Haus", "5.", "…", "ein,", "die", "und"]), max_size=8),
    st.sampled_from(["de", "fr", "es", "zh"]),
)
def test_no_word_waits_for_one_before_it_or_for_none(words: list[str], language: str) -> None:
    for index, at in enumerate(waits(words, language)):
        assert index <= at < len(words)
