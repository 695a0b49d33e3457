"""Tokens' lives, told by lengths and erasures, are those that the texts themselves tell."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from operators.metrics.erasure import erasure
from operators.metrics.lifespans import (
    Marks,
    Step,
    Support,
    marks,
    support,
)
from operators.metrics.tokenizers import spelled, tokenizer

texts = st.lists(st.lists(st.sampled_from("ab"), max_size=6).map(tuple), min_size=1, max_size=8)


def steps(updates: list[tuple[str, ...]]) -> list[Step]:
    before: list[tuple[str, ...]] = [(), *updates[:-1]]
    return [Step(len(now), erasure(old, now)) for old, now in zip(before, updates, strict=True)]


@given(texts)
def test_a_settled_token_is_in_every_later_text_and_the_next_one_is_not(
    updates: list[tuple[str, ...]],
) -> None:
    for number, mark in enumerate(marks(steps(updates))):
        now, later = updates[number], updates[number:]
        assert all(text[: mark.settled] == now[: mark.settled] for text in later)
        if mark.settled < len(now):
            assert any(text[: mark.settled + 1] != now[: mark.settled + 1] for text in later)
        assert mark.settled <= mark.stands <= len(now)
        assert mark.kept <= len(now)


def test_a_word_that_was_rewritten_is_marked() -> None:
    # Guten Tag · Guten Morgen zusammen
    rewritten = [Step(2, 0), Step(3, 1)]
    assert marks(rewritten) == [Marks(kept=0, stands=1, settled=1), Marks(kept=1, stands=3, settled=3)]


@given(st.text())
def test_spelled_tokens_are_the_text(text: str) -> None:
    tokens = text.split()
    assert "".join(spelled(text, tokens)) == text.rstrip()


def test_punctuation_goes_back_to_its_word() -> None:
    text = "Guten Morgen, Museum."
    assert spelled(text, tokenizer("13a")(text)) == ["Guten", " Morgen", ",", " Museum", "."]


def test_what_a_tokenizer_has_rewritten_stands_as_it_made_it() -> None:
    text = "Müller &amp; Söhne"
    assert spelled(text, tokenizer("13a")(text)) == ["Müller", " &", " Söhne"]


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
