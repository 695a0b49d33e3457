"""Word error rates: what counts as a word, and as an error."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.metrics.wer import spoken_words, word_error_rate, word_errors

words = st.lists(st.sampled_from("abcd"), max_size=8)


def test_case_punctuation_and_hyphens_are_not_spoken() -> None:
    assert spoken_words("“Forty-two,” he said. It’s ÜBER!") == ("forty", "two", "he", "said", "it's", "über")


@given(words, words, words)
def test_word_errors_are_a_distance(one: list[str], two: list[str], three: list[str]) -> None:
    assert word_errors(one, two) == word_errors(two, one)
    assert (word_errors(one, two) == 0) == (one == two)
    assert word_errors(one, three) <= word_errors(one, two) + word_errors(two, three)
    assert abs(len(one) - len(two)) <= word_errors(one, two) <= max(len(one), len(two))


def test_errors_are_pooled_over_all_texts_not_averaged() -> None:
    texts = [("Ask not what your country", "As not what a country."), ("can", "can't")]
    assert word_error_rate(texts) == pytest.approx(100 * 3 / 6)
    assert word_error_rate([("—", "a")]) is None
