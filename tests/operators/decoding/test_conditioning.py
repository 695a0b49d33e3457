"""What of an unfinished text the model gets to see."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.decoding.conditioning import Conditioning

CLOSED = Conditioning(close=True)


@pytest.mark.parametrize(
    ("conditioning", "text", "want"),
    [
        (Conditioning(), "It was.", "It was."),
        (Conditioning(strip_punctuation=True), "It was.", "It was"),
        (Conditioning(strip_punctuation=True, close=True), "It was the.", "It was the"),
        (CLOSED, "It was the ", "It was the."),
        (CLOSED, "It was,", "It was."),
        (CLOSED, "Was it?", "Was it?"),
        (CLOSED, ", …", ", …"),
        (CLOSED, "今日は", "今日は。"),
        (CLOSED, "", ""),
    ],
)
def test_unfinished_text_is_closed_so_that_no_end_is_invented_for_it(
    conditioning: Conditioning, text: str, want: str
) -> None:
    assert conditioning.prepare(text, is_final=False) == want
    assert conditioning.prepare(text, is_final=True) == text


@given(st.lists(st.sampled_from(["a", "今日は良い天気です。"]), min_size=1, max_size=5), st.integers(0, 6))
def test_the_last_words_wait_but_not_the_first_so_that_no_caption_vanishes(
    words: list[str], hold_back: int
) -> None:
    text, waiting = " ".join(words), Conditioning(hold_back=hold_back)
    assert waiting.prepare(text, is_final=False) == " ".join(words[: max(1, len(words) - hold_back)])
    assert (
        waiting.prepare(text, is_final=False, is_stable=True) == waiting.prepare(text, is_final=True) == text
    )
