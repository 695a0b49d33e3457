"""The numbers of recognisers in digits: as written, stable while a number is being said, in linear time."""

from time import thread_time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from operators.languages import language
from operators.sentences.numbers import digits

ENGLISH = language("English")

WRITTEN = {
    "years": """
        of about fourteen fifty five | of about 1455
        of about fourteen, sixty-five, and | of about 1465, and
        in eighteen hundred and three, or nineteen oh five. | in 1803, or 1905.
        the eighteen sixties, the sixties, the eighteen hundreds | the 1860s, the 60s, the 1800s
        from nineteen, seventy-seven to nineteen eighty-one | from 1977 to 1981
        by nineteen, seventy six, thirty percent of | by 1976, 30 percent of
        the nineteen, ninety-six Games | the 1996 Games
        twenty twenty-five, two thousand and five, in ten sixty six | 2025, 2005, in 1066
        nineteen eighty-four's | 1984's""",
    "lists and numbers in a row": """
        one, two, three | one, two, three
        nine, ten, eleven | 9, 10, 11
        thirteen, fourteen, fifteen | 13, 14, 15
        fifteen or twenty | 15 or 20
        five to fifteen; five or six | 5 to 15; five or six
        in fourteen, fifty five people died | in 14, 55 people died
        in fourteen fifty five, two people | in 1455, two people
        twenty twenty-five year olds | 20 25 year olds
        fifteen sixteen people | 15 16 people
        between one hundred and two hundred | between 100 and 200
        between one hundred and fifty and two hundred | between 150 and 200
        five thousand and six thousand | 5000 and 6000
        ten or fifteen thousand, two or three hundred | 10,000 or 15,000, 200 or 300
        five five five one two three four | 5551234""",
    "counts and measures": """
        Fourteen schools, a hundred and fifty pupils | 14 schools, 150 pupils
        the hundred and fifty, a few hundred and one | the 150, a few hundred and one
        roughly three hundred seventy thousand | roughly 370,000
        one thousand, five hundred and sixty-two | 1562
        two million three hundred thousand | 2,300,000
        three point five million, four million | 3.5 million, 4 million
        eighty four point twenty two | 84.22
        zero point oh five, two and a half percent | 0.05, 2.5 percent
        thirty to sixty three percent, one per cent | 30 to 63 percent, 1 per cent
        five dollars, twenty five hundred | 5 dollars, 2500
        the forty-two line Bible | the 42 line Bible""",
    "ordinals, dates and times": """
        the twenty first century, the fifteenth | the 21st century, the 15th
        the hundred and twelfth, one hundred and first | the 112th, 101st
        on July fourth, the second of May, sixth October | on July 4th, the 2nd of May, 6th October
        a thirty second clip, the thirty-second time | a 30 second clip, the 32nd time
        at three thirty, at five oh five, eleven fifteen | at 3:30, at 5:05, 11:15""",
    "words that stay words": """
        one of them, no one, that one | one of them, no one, that one
        this one twenty years ago | this one twenty years ago
        one per person, one meter | one per person, one meter
        ten men and one of them | 10 men and one of them
        the first three, half past three | the first three, half past three
        it may first rain in a second | it may first rain in a second
        half a million, several hundred thousand | half a million, several hundred thousand
        two thirds, one tenth of them | two thirds, one tenth of them
        someone weighs often | someone weighs often""",
}
PAIRS = [
    pytest.param(*(side.strip() for side in line.split("|")), id=f"{group}: {line.split('|')[0].strip()}")
    for group, lines in WRITTEN.items()
    for line in lines.strip().splitlines()
]
WORDS = """
    a and o oh one two three five nine ten fourteen nineteen twenty thirty fifty eighty hundred thousand
    million point first second fifth fifteenth twentieth sixties hundreds or to through between half past in
    at by July of percent people year May zero 5 1455 men was
"""
GAPS = st.sampled_from([" ", " ", " ", ", ", "-", ". "])
SPEECH = st.lists(st.tuples(st.sampled_from(WORDS.split()), GAPS), max_size=14).map(
    lambda said: "".join(word + gap for word, gap in said)
)


@pytest.mark.parametrize(("said", "written"), PAIRS)
def test_numbers_are_written_as_a_copy_editor_would(said: str, written: str) -> None:
    assert digits(said, ENGLISH) == written


@given(SPEECH)
@example("five hundred hundred")
@example("twenty four five six seven")
def test_what_is_in_digits_stays_as_it_is(said: str) -> None:
    once = digits(said, ENGLISH)
    assert digits(once, ENGLISH) == once


@given(SPEECH, SPEECH)
def test_more_words_do_not_change_the_numbers_of_earlier_sentences(said: str, more: str) -> None:
    before = f"{said}cats. "
    assert digits(before + more, ENGLISH) == digits(before, ENGLISH) + digits(more, ENGLISH)


@given(SPEECH, SPEECH)
def test_a_number_is_done_three_words_later(said: str, more: str) -> None:
    before = f"{said}cats sleep here "
    assert digits(before + more, ENGLISH).startswith(digits(before, ENGLISH))


@given(st.text())
def test_text_without_number_words_is_returned_as_it_is(text: str) -> None:
    assert digits(text, ENGLISH) == text


@given(SPEECH)
def test_words_that_spell_no_number_keep_their_places(said: str) -> None:
    kept = [
        word for word in said.replace(",", " ").split() if word in ("people", "July", "was", "men", "year")
    ]
    shown = [word for word in digits(said, ENGLISH).replace(",", " ").split() if word in kept]
    assert shown == kept


def test_a_number_grows_while_it_is_being_said() -> None:
    said = ["by", "fourteen", "fifty", "five"]
    shown = [digits(" ".join(said[:heard]), ENGLISH) for heard in range(1, 5)]
    assert shown == ["by", "by 14", "by 1450", "by 1455"]


def test_other_languages_stay_as_they_are() -> None:
    assert digits("neunzehn in one", language("German")) == "neunzehn in one"


@pytest.mark.parametrize(
    "words",
    ["one", "twenty", "one hundred", "a hundred and", "one,", "five or", "oh", "one thousand,", "five point"],
)
def test_endless_numbers_take_linear_time(words: str) -> None:
    began = thread_time()
    digits(f"{words} " * 20_000, ENGLISH)
    assert thread_time() - began < 5
