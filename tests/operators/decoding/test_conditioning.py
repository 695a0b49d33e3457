"""What of an unfinished text the model gets to see."""

from hypothesis import given
from hypothesis import strategies as st

from operators.decoding.conditioning import Conditioning


def test_the_closing_punctuation_of_unfinished_text_is_not_believed() -> None:
    assert Conditioning(strip_punctuation=True).prepare("It was.", is_final=False) == "It was"
    assert Conditioning().prepare("It was.", is_final=False) == "It was."


def test_the_last_words_wait_for_the_next_update() -> None:
    assert Conditioning(hold_back=1).prepare("It was the best.", is_final=False) == "It was the"
    assert Conditioning(hold_back=2).prepare("It was the best.", is_final=False) == "It was"
    assert Conditioning(hold_back=1).prepare("It was", is_final=False, is_stable=True) == "It was"


@given(st.lists(st.sampled_from(["a", "今日は良い天気です。"]), min_size=1, max_size=5), st.integers(0, 6))
def test_the_first_word_does_not_wait_so_that_no_caption_vanishes(words: list[str], hold_back: int) -> None:
    prepared = Conditioning(hold_back=hold_back).prepare(" ".join(words), is_final=False)
    assert prepared == " ".join(words[: max(1, len(words) - hold_back)])


@given(st.text(max_size=30), st.integers(0, 3), st.booleans())
def test_a_final_is_given_as_it_is(text: str, hold_back: int, keep: bool) -> None:
    assert Conditioning(keep, hold_back).prepare(text, is_final=True) == text


@given(st.text("ab .,", max_size=30), st.integers(0, 3))
def test_what_is_given_is_the_beginning_of_the_text(text: str, hold_back: int) -> None:
    prepared = Conditioning(True, hold_back).prepare(text, is_final=False)
    assert " ".join(text.split()).startswith(" ".join(prepared.split()))


def test_unfinished_text_is_closed_so_that_no_end_is_invented_for_it() -> None:
    closing = Conditioning(close=True)
    assert closing.prepare("It was the ", is_final=False) == "It was the."
    assert closing.prepare("It was,", is_final=False) == "It was."
    assert closing.prepare("Was it?", is_final=False) == "Was it?"
    assert closing.prepare(", …", is_final=False) == ", …"
    assert closing.prepare("今日は", is_final=False) == "今日は。"
    assert closing.prepare("", is_final=False) == ""
    assert closing.prepare("It was the", is_final=True) == "It was the"
    assert Conditioning(True, close=True).prepare("It was the.", is_final=False) == "It was the"
