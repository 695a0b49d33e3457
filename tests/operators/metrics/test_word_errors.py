"""Word errors are the fewest words to change."""

from hypothesis import given
from hypothesis import strategies as st

from flows.measuring.speech.scores import spoken_words, word_errors

words = st.lists(st.sampled_from("abcd"), max_size=8)


def test_case_punctuation_and_hyphens_are_not_spoken() -> None:
    assert spoken_words("“Forty-two,” he said. It’s ÜBER!") == ("forty", "two", "he", "said", "it's", "über")


def test_substituted_inserted_and_deleted_words_count_once_each() -> None:
    assert word_errors(["the", "cat", "sat"], ["the", "cat", "sat"]) == 0
    assert word_errors(["the", "cat", "sat"], ["the", "bat", "sat"]) == 1
    assert word_errors(["the", "cat", "sat"], ["the", "cat"]) == 1
    assert word_errors(["the", "cat"], ["so", "the", "fat", "cat"]) == 2
    assert word_errors([], ["a", "b"]) == 2


@given(words, words, words)
def test_word_errors_are_a_distance(one: list[str], two: list[str], three: list[str]) -> None:
    assert word_errors(one, two) == word_errors(two, one)
    assert (word_errors(one, two) == 0) == (one == two)
    assert word_errors(one, three) <= word_errors(one, two) + word_errors(two, three)
    assert abs(len(one) - len(two)) <= word_errors(one, two) <= max(len(one), len(two))
