"""What a recogniser heard is told apart from what it guesses at the end of an unfinished window."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.recognizers.windowed.method import steady_text

SAID = [b" I", b" have", b" a", b" dr", b"eam", b"."]


def of(probabilities: Sequence[float]) -> Callable[[int], float]:
    return probabilities.__getitem__


def test_closing_punctuation_of_unfinished_text_is_never_heard() -> None:
    assert steady_text(SAID, of([1.0] * 6), 0.0) == "I have a dream"


def test_doubtful_words_at_the_end_are_held_back_and_their_punctuation_is_not_what_makes_them_doubtful() -> (
    None
):
    assert steady_text(SAID, of([1, 1, 1, 0.9, 0.2, 1]), 0.7) == "I have a"
    assert steady_text(SAID, of([1, 1, 0.5, 0.4, 0.9, 1]), 0.7) == "I have"
    assert steady_text(SAID, of([1, 1, 1, 1, 1, 0.1]), 0.7) == "I have a dream"
    assert steady_text(SAID, of([1, 0.1, 1, 1, 1, 1]), 0.7) == "I have a dream", "only the end is unfinished"


def test_what_was_shown_and_is_still_said_is_not_taken_back() -> None:
    doubt = of([1, 1, 0.5, 0.4, 0.9, 1])
    assert steady_text(SAID, doubt, 0.7, shown="I have a") == "I have a"
    assert steady_text(SAID, doubt, 0.7, shown="I have a dre") == "I have", "a word is not half said"
    assert steady_text(SAID, doubt, 0.7, shown="I had a dream") == "I have"


@pytest.mark.parametrize("text", ["今日はいい天気", "今天天气很好"])
def test_where_no_spaces_part_words_tokens_are_held_back_one_by_one(text: str) -> None:
    pieces = [character.encode() for character in text]
    assert steady_text(pieces, of([1.0] * (len(text) - 1) + [0.1]), 0.7) == text[:-1]


@given(
    st.lists(
        st.sampled_from([b" a", b"b", b".", b" ", "é".encode()[:1], "日".encode(), b"\xff"]), max_size=9
    ),
    st.data(),
)
def test_any_tokens_give_a_beginning_of_their_text(pieces: list[bytes], data: st.DataObject) -> None:
    probabilities = data.draw(st.lists(st.floats(0, 1), min_size=len(pieces), max_size=len(pieces)))
    text = steady_text(pieces, of(probabilities), 0.5)
    assert steady_text(pieces, of([1.0] * len(pieces)), 0.0).startswith(text)
