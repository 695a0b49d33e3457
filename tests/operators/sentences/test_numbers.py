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
        of about fourteen, sixty-five, and | of about 1465, and
        the eighteen sixties, the sixties, the eighteen hundreds | the 1860s, the 60s, the 1800s
        from nineteen, seventy-seven to nineteen eighty-one | from 1977 to 1981
        by nineteen, seventy six, thirty percent of | by 1976, 30 percent of
        the nineteen, ninety-six Games | the 1996 Games
        twenty twenty-five, two thousand and five, in ten sixty six | 2025, 2005, in 1066
        in nineteen o five, in nineteen ten, in nineteen five men | in 1905, in 1910, in 19 five men
        aged nineteen, seventy-five or eighty, sold thirty, fifteen, and | aged 19, 75 or 80, sold 30, 15, and
        aged nineteen, seventy-five and eighty; or nineteen, sixty-six, six | aged 19, 75 and 80; or 19, 66, 6
        in fourteen fifty-five or two thousand | in 1455 or 2000""",
    "lists and numbers in a row": """
        nine, ten, eleven. Nine, fourteen, sixty-five | 9, 10, 11. 9, 14, 65
        thirteen, fourteen, fifteen. Sixteen, twenty of them | 13, 14, 15. 16, 20 of them
        five to fifteen; five or six | 5 to 15; five or six
        in fourteen fifty five, two people | in 1455, two people
        twenty twenty-five year olds | 20 25 year olds
        fifteen sixteen; nineteen eighteen; fifteen sixteen people | 15 16; 1918; 15 16 people
        between one hundred and fifty and two hundred | between 150 and 200
        five thousand and six thousand | 5000 and 6000
        fifteen or five or six, three or three hundred | 15 or 5 or 6, 3 or 300
        one to fifteen, one through fifteen | 1 to 15, 1 through 15
        fifteen and one of them, fifteen and two of them | 15 and one of them, 15 and 2 of them
        two to three thousand, one or two hundred people | 2000 to 3000, 100 or 200 people
        five to six hundred thousand, ten or fifteen thousand | 500,000 to 600,000, 10,000 or 15,000
        five to about fifteen; five of fifteen | five to about 15; five of 15
        between one hundred and one thousand | between 100 and 1000
        one hundred and two hundred | 100 and 200""",
    "counts and measures": """
        Fourteen schools, a hundred and fifty pupils | 14 schools, 150 pupils
        two million three hundred thousand | 2,300,000
        eighty four point twenty two | 84.22
        zero point oh five, two and a half percent | 0.05, 2.5 percent
        thirty to sixty three percent, one per cent | 30 to 63 percent, 1 per cent
        five dollars, twenty five hundred | 5 dollars, 2500
        Hundred and fifty pupils, two, hundred and many | 150 pupils, two, hundred and many
        a thousand schools, five fifteen hundred pound bombs | 1000 schools, five 1500 pound bombs
        zero percent, two thousand, one hundred | 0 percent, 2100""",
    "ordinals, dates and times": """
        the hundred and twelfth, one hundred and first | the 112th, 101st
        the tenth man, a fifteenth try, an eighteenth of it | the 10th man, a 15th try, an eighteenth of it
        the twenty-third, the one thousand one hundred and first | the 23rd, the 1101st
        on July fourth, the second of May, sixth October | on July 4th, the 2nd of May, 6th October
        a thirty second clip, the thirty-second time | a 30 second clip, the 32nd time
        at three thirty, at five oh five, eleven fifteen | at 3:30, at 5:05, 11:15
        a thirty-second clip, three thirty-second clips | a 30-second clip, three 30-second clips""",
    "times of the clock": """
        Half-past twelve, or a half past one | 12:30, or 1:30
        a quarter to one, a quarter till eleven | 12:45, 10:45
        It's nearly five to eight, and late | It's nearly 7:55, and late
        Five to eight. | 7:55.
        until twenty-five to eight this evening | until 7:35 this evening
        twenty minutes to eight, one minute past ten | 7:40, 10:01
        nine oh five, ten oh six | 9:05, 10:06
        at ten thirty students left | at 10:30 students left
        since ten thirty James has been here | since 10:30 James has been here
        ten thirty works for me, half past nine am | 10:30 works for me, 9:30 am
        ten thirty business, ten thirty campus tours | 10:30 business, 10:30 campus tours
        until ten thirty tennis was on | until 10:30 tennis was on
        from ten thirty until twelve fifteen | from 10:30 until 12:15""",
    "numbers that are no times of the clock": """
        from five to eight, about five to eight meters | from five to eight, about 5 to 8 meters
        a quarter to three quarters of them | a quarter to three quarters of them
        a quarter to one half, a quarter to one of us | a quarter to one half, a quarter to one of us
        she gave five minutes to three people | she gave five minutes to three people
        twenty to ten-year-olds, five to ten-year-olds | 20 to 10-year-olds, 5 to 10-year-olds
        room nine oh five, flight ten oh six | room 905, flight 1006
        one oh one, a four oh four error, nine oh five meters | 101, a 404 error, 905 meters
        nine oh five one two | 90512""",
    "counts and measures that are no years or times": """
        sixteen forty-foot containers | 16 40-foot containers
        sixteen forty foot containers | 16 40 foot containers
        since ten thirty cats have left | since 10 30 cats have left
        until twelve twenty buses had come | until 12 20 buses had come
        ten fifteen degree slopes | 10 15 degree slopes
        twelve thousand point five, two thousand and a half | 12,000.5, 2000.5""",
    "years behind which something goes on": """
        in twelve fifteen barons met | in 1215 barons met
        from nineteen fourteen-eighteen | from 1914-18
        by nineteen oh five cars were common | by 1905 cars were common""",
    "words that stay words": """
        one of them, no one, that one | one of them, no one, that one
        this one twenty years ago | this one twenty years ago
        it may first rain in a second | it may first rain in a second
        half a hundred men, three point guards | half a hundred men, three point guards
        two thirds, one tenth of them | two thirds, one tenth of them""",
}
PAIRS = [
    pytest.param(*(side.strip() for side in line.split("|")), id=f"{group}: {line.split('|')[0].strip()}")
    for group, lines in WRITTEN.items()
    for line in lines.strip().splitlines()
]
WORDS = """
    a and o oh one two three five nine ten fourteen nineteen twenty thirty fifty eighty hundred thousand
    million point first second fifth fifteenth twentieth sixties hundreds or to through between half past in
    quarter minutes at by July of percent people year May zero 5 1455 men was buses foot
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
@example("five thirty-thirty thirty-nine")
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


@given(SPEECH)
def test_words_that_spell_no_number_keep_their_places(said: str) -> None:
    others = ("people", "July", "was", "men", "year")
    kept = [word for word in said.replace(",", " ").split() if word in others]
    shown = [word for word in digits(said, ENGLISH).replace(",", " ").split() if word in kept]
    assert shown == kept


def test_a_number_grows_while_it_is_being_said() -> None:
    said = ["by", "fourteen", "fifty", "five"]
    shown = [digits(" ".join(said[:heard]), ENGLISH) for heard in range(1, 5)]
    assert shown == ["by", "by 14", "by 1450", "by 1455"]


def test_other_languages_stay_as_they_are() -> None:
    assert digits("neunzehn in one", language("German")) == "neunzehn in one"


@pytest.mark.parametrize(
    "words", ["one", "one hundred", "a hundred and", "one,", "five or", "oh", "five point", "five to"]
)
def test_endless_numbers_take_linear_time(words: str) -> None:
    began = thread_time()
    digits(f"{words} " * 20_000, ENGLISH)
    assert thread_time() - began < 5
