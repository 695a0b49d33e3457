"""What is joined loses the false full stop and the false capital, and no word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.languages import language
from operators.sentences.mend import ended, mend

ENGLISH, GERMAN, JAPANESE = language("en"), language("de"), language("ja")


def test_the_false_stop_and_the_false_capital_go() -> None:
    assert (
        mend("printed with movable type.", "Has never been", ENGLISH)
        == "printed with movable type has never been"
    )
    assert mend("movable types.", "The Bible", ENGLISH, mark=",") == "movable types, the Bible"
    assert mend("therefore,,", "That the forms", ENGLISH) == "therefore that the forms"


def test_what_has_a_capital_of_its_own_keeps_it() -> None:
    assert mend("I think.", "I'm late", ENGLISH) == "I think I'm late"
    assert mend("The rockets of.", "NASA fly", ENGLISH) == "The rockets of NASA fly"
    assert mend("Er liest in der.", "Bibel", GERMAN, keeps_capital=True) == "Er liest in der Bibel"


def test_a_small_word_that_both_sides_heard_is_written_once() -> None:
    assert mend("the block books, which", "Which were", ENGLISH) == "the block books, which were"
    assert mend("the block books, which", "Which", ENGLISH) == "the block books, which"
    assert mend("He said that", "That is", ENGLISH) == "He said that that is", "people say it twice"
    assert mend("the forms.", "Forms are", ENGLISH) == "the forms forms are", "not a small word"


def test_a_quotation_is_closed_behind_the_mark_of_the_seam() -> None:
    assert (
        mend("He called it “the end.”", "And left", ENGLISH, mark=",") == "He called it “the end,” and left"
    )


def test_languages_without_spaces_are_joined_without_one_and_keep_their_commas() -> None:
    assert mend("昨日は、", "雨でした", JAPANESE) == "昨日は、雨でした"
    assert mend("昨日は。", "雨でした", JAPANESE) == "昨日は雨でした"


@pytest.mark.parametrize(
    ("heard", "sentence"),
    [
        ("the same operations,", "the same operations."),
        ("昨日は、", "昨日は。"),
        ("all of it", "all of it"),
        ("So?", "So?"),
    ],
)
def test_the_comma_behind_a_sentence_becomes_a_full_stop(heard: str, sentence: str) -> None:
    assert ended(heard) == sentence


@pytest.mark.parametrize(("before", "after"), [("", "And so"), ("And so.", "")])
def test_nothing_is_mended_where_one_side_is_empty(before: str, after: str) -> None:
    assert mend(before, after, ENGLISH) == before + after


@given(st.text(), st.text(), st.sampled_from(["", ","]), st.booleans())
def test_no_letter_is_lost_in_any_text(before: str, after: str, mark: str, keeps: bool) -> None:
    joined = mend(
        before, after, language("ko"), mark=mark, keeps_capital=keeps
    )  # no small words to be doubled
    letters = [one for one in (before + after).casefold() if one.isalnum()]
    assert [one for one in joined.casefold() if one.isalnum()] == letters
