"""Words and marks of recognised text."""

import pytest

from operators.sentences.words import Spellings, without_inner_stops


@pytest.mark.parametrize(
    ("heard", "meant"),
    [
        ("We had everything before us. we had nothing.", "We had everything before us, we had nothing."),
        ("It was the spring of hope. It was the winter.", "It was the spring of hope. It was the winter."),
        ("At 5 p.m. we met Mr. von Berg of Acme Inc. and left.",) * 2,
        ("It costs 3.50 euros. 4 of them.",) * 2,
    ],
)
def test_a_full_stop_before_a_small_letter_is_a_comma_unless_it_is_an_abbreviations(
    heard: str, meant: str
) -> None:
    assert without_inner_stops(heard) == meant


def test_the_words_that_were_heard_last_are_remembered() -> None:
    spellings = Spellings()
    spellings.learn("So " + " ".join(f"w{number}" for number in range(500)))
    assert spellings.is_large("w0") is False, "as many as that"
    spellings.learn("So W0 more")
    assert [spellings.is_large(word) for word in ("w0", "w1", "w2")] == [True, None, False]
