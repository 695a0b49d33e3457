"""Segments of an engine are parted between two words where another voice begins, and no word is lost."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.recognizers.protocol import Hypothesis, Span
from operators.recognizers.segments import Segments, Word

TEXTS = ("one", "two", "three", "four", "five", "six", "seven")
#: Of half a second each, with pauses of 0.1 s but a longer one before "five".
WORDS = [
    Word(f" {text}", begin_s, begin_s + 0.5)
    for text, begin_s in zip(TEXTS, (1, 1.6, 2.2, 2.8, 3.7, 4.3, 4.9), strict=True)
]


def heard(
    segments: Segments, words: list[Word], *, is_over: bool = True, lag_s: float = 0.3
) -> list[Hypothesis]:
    """What is said of words as they come, a tenth of a second after the other."""
    said: list[Hypothesis] = []
    steps = round(words[-1].end_s * 10) + 10
    for step in range(steps):
        heard_s = step / 10
        is_last = is_over and step == steps - 1
        known = [word for word in words if is_last or word.end_s + lag_s <= heard_s]
        said += segments.update(known, heard_s, is_over=is_last)
    return said


def finals(said: list[Hypothesis]) -> list[str]:
    return [one.text for one in said if one.is_final]


@pytest.mark.parametrize(
    ("span", "texts"),
    [
        # At the longest gap, or else nearest to the middle.
        ((2.6, 3.8), ["one two three four", "five six seven"]),
        ((1.5, 2.75), ["one two", "three four five six seven"]),
        # In a word: at its nearer end.
        ((2.85, 2.9), ["one two three", "four five six seven"]),
        ((3.2, 3.25), ["one two three four", "five six seven"]),
        # The last word is known to be it only at the end.
        ((4.82, 5.2), ["one two three four five six", "seven"]),
        # Not of this segment.
        ((0.1, 0.9), ["one two three four five six seven"]),
        ((5.5, 6.0), ["one two three four five six seven"]),
    ],
)
def test_a_segment_ends_between_two_words_about_which_another_voice_begins(
    span: tuple[float, float], texts: list[str]
) -> None:
    segments = Segments()
    segments.change = lambda begin_s, end_s: Span(*span) if begin_s == 1.0 and end_s > span[1] else None
    said = heard(segments, WORDS)
    assert finals(said) == texts
    first, last = ([one for one in said if one.is_final][at] for at in (0, -1))
    if len(texts) > 1:
        assert first.end_s == WORDS[len(texts[0].split()) - 1].end_s
        assert last.start_s == WORDS[len(texts[0].split())].begin_s


def test_another_voice_is_looked_for_in_the_open_part_now_and_then() -> None:
    asked: list[tuple[float, float]] = []

    def change(begin_s: float, end_s: float) -> Span | None:
        asked.append((begin_s, end_s))
        return Span(2.6, 3.2) if begin_s < 2.0 and end_s > 4.0 else None

    segments = Segments()
    segments.change = change
    heard(segments, WORDS)
    assert [begin_s for begin_s, _ in asked] == sorted(begin_s for begin_s, _ in asked)
    assert {begin_s for begin_s, _ in asked} == {1.0, 2.8}
    assert min(next_one[1] - one[1] for one, next_one in pairwise(asked)) >= 0.4 - 1e-6


def test_a_part_that_is_final_stays_and_later_words_of_the_engine_are_whole() -> None:
    segments = Segments()
    segments.change = lambda begin_s, _end_s: Span(2.6, 3.8) if begin_s < 2 else None
    said = heard(segments, WORDS, is_over=False)
    revised = [Word(" won", 0.9, 1.5), Word(" tree", 2.1, 3.4), *WORDS[4:6], Word(" eleven", 4.8, 5.5)]
    said += segments.update(revised, 7.0, is_over=True)
    said += segments.update([Word(" eight", 7.1, 7.5)], 8.0, is_over=True)
    assert finals(said) == ["one two three four", "five six eleven", "eight"]
    assert [one.segment for one in said if one.is_final] == [0, 1, 2]


@given(
    st.lists(st.tuples(st.sampled_from((0.0, 0.1, 0.3, 1.0)), st.floats(0.05, 1.0)), min_size=1, max_size=12),
    st.lists(st.tuples(st.floats(0.0, 12.0), st.floats(0.0, 2.0)), max_size=6),
    st.floats(0.0, 1.5),
)
def test_no_word_is_lost_or_doubled_wherever_voices_change(
    lengths: list[tuple[float, float]], changes: list[tuple[float, float]], lag_s: float
) -> None:
    words, now_s = list[Word](), 0.5
    for number, (pause_s, length_s) in enumerate(lengths):
        words.append(Word(f" {number}", now_s + pause_s, now_s + pause_s + length_s))
        now_s += pause_s + length_s
    spans = [Span(begin_s, begin_s + length_s) for begin_s, length_s in changes]
    segments = Segments()
    segments.change = lambda begin_s, end_s: next(
        (span for span in spans if begin_s < span.begin_s and span.end_s < end_s), None
    )
    said = heard(segments, words, lag_s=lag_s)
    assert " ".join(finals(said)).split() == [str(number) for number in range(len(words))]
    assert [one.segment for one in said if one.is_final] == sorted({one.segment for one in said})
    assert said == sorted(said, key=lambda one: (one.segment, one.is_final))
    assert all(one.start_s <= one.end_s for one in said)
