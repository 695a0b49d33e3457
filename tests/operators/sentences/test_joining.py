"""Segments of a recogniser become sentences: which grow over pauses, end once, and are never taken back."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.events import Partial
from operators.languages import Language, language
from operators.sentences.joining import (
    MAX_OPEN,
    USUAL,
    Bounds,
    Sentences,
    SentencesState,
    SpokenRules,
    ended,
    mend,
)
from operators.sentences.seam import BoundaryScorer, BoundaryScores
from operators.stages.snapshots import pack, unpack

ENGLISH, GERMAN, JAPANESE = language("en"), language("de"), language("ja")


@pytest.mark.parametrize(
    ("spoken", "before", "after", "sentence"),
    [
        (ENGLISH, "printed with movable type.", "Has never been", "printed with movable type has never been"),
        (ENGLISH, "therefore,,", "That the forms", "therefore that the forms"),
        (ENGLISH, "I think.", "I’m late", "I think I’m late"),
        (ENGLISH, "I think.", "McDonald eats", "I think McDonald eats"),
        (ENGLISH, "the block books, which", "Which were", "the block books, which were"),
        (ENGLISH, "the block books, which", "Which", "the block books, which"),
        (ENGLISH, "the forms.", "Forms are", "the forms forms are"),
        (ENGLISH, "what it's made of", "Of course", "what it's made of of course"),
        (GERMAN, "Die Leute, die", "Die Arbeit machen", "Die Leute, die die Arbeit machen"),
        (JAPANESE, "昨日は、", "雨でした", "昨日は、雨でした"),
        (JAPANESE, "昨日は。", "雨でした", "昨日は雨でした"),
        (ENGLISH, "", "And so", "And so"),
        (ENGLISH, "And so.", "", "And so."),
    ],
)
def test_the_false_stop_the_false_capital_and_the_word_heard_twice_go_but_none_said_twice(
    spoken: Language, before: str, after: str, sentence: str
) -> None:
    assert mend(before, after, spoken) == sentence


def test_what_is_known_of_the_seam_is_written() -> None:
    assert mend("movable types.", "The Bible", ENGLISH, mark=",") == "movable types, the Bible"
    assert mend("It is “the end.”", "And left", ENGLISH, mark=",") == "It is “the end,” and left"
    assert mend("Er liest in der.", "Bibel", GERMAN, keeps_capital=True) == "Er liest in der Bibel"


def test_the_comma_behind_a_sentence_becomes_a_full_stop() -> None:
    heard = ["the same operations,", "昨日は、", "all of it", "So?"]
    assert [ended(one) for one in heard] == ["the same operations.", "昨日は。", "all of it", "So?"]


@given(st.text(), st.text(), st.sampled_from(["", ","]), st.booleans())
def test_no_letter_is_lost_in_any_text(before: str, after: str, mark: str, keeps: bool) -> None:
    korean = language("ko")  # no small words to be doubled
    joined = mend(before, after, korean, mark=mark, keeps_capital=keeps)
    letters = [one for one in (before + after).casefold() if one.isalnum()]
    assert [one for one in joined.casefold() if one.isalnum()] == letters


def joiner(
    state: SentencesState | None = None, bounds: Bounds = USUAL, scorer: BoundaryScorer | None = None
) -> Sentences:
    return Sentences(
        state or SentencesState("talk"), lambda _spoken: SpokenRules(ENGLISH, scorer), bounds=bounds
    )


def says(
    segment: int, text: str, start_s: float, end_s: float, *, is_final: bool = False, revision: int = 0,
    speaker: str = "",
) -> Partial:  # fmt: skip
    return Partial(
        stream="talk", segment=segment, revision=revision, is_final=is_final, text=text, start_s=start_s,
        end_s=end_s, arrival_s=end_s + 0.3, speaker=speaker or msgspec.UNSET,
    )  # fmt: skip


def texts(partials: Sequence[Partial]) -> list[tuple[int, str, bool]]:
    return [(one.segment, one.text, one.is_final) for one in partials]


def test_a_sentence_grows_over_a_pause_on_the_same_line() -> None:
    sentences = joiner()
    heard = [
        says(4, "The book", 0.0, 1.0),
        says(4, "The book with the type of the.", 0.0, 2.0, is_final=True),
        says(5, "And", 2.4, 3.0),
        says(5, "And Gutenberg.", 2.4, 3.5, is_final=True),
    ]
    shown = [one for partial in heard for one in sentences.hear(partial)]
    assert texts(shown) == [
        (4, "The book", False),
        (4, "The book with the type of the", False),
        (4, "The book with the type of the and", False),
        (4, "The book with the type of the and Gutenberg", False),
    ]
    assert [one.revision for one in shown] == [0, 1, 2, 3]
    assert [one.is_stable for one in shown] == [False, True, False, True]
    assert (shown[-1].start_s, shown[-1].end_s) == (0.0, 3.5)
    assert texts(sentences.end(5.0)) == [(4, "The book with the type of the and Gutenberg.", True)]


def test_words_are_passed_on_again_as_they_were_when_they_become_stable_but_not_for_a_full_stop() -> None:
    sentences = joiner()
    (first,) = sentences.hear(says(0, "We come home.", 0.0, 1.0))
    assert sentences.hear(says(0, "We come home", 0.0, 1.1)) == []
    (stable,) = sentences.hear(says(0, "We come home", 0.0, 1.2, is_final=True))
    assert (first.text, first.is_stable) == ("We come home.", False)
    assert (stable.text, stable.is_stable) == ("We come home.", True)


def test_words_are_stable_once_the_segment_has_ended_and_whether_the_stop_stays_the_final_says() -> None:
    sentences = joiner()
    (first,) = sentences.hear(says(0, "We come", 0.0, 1.0))
    (stable,) = sentences.hear(says(0, "We come home.", 0.0, 1.2, is_final=True))
    assert texts([stable]) == [(0, "We come home", False)]
    (final,) = sentences.end()
    assert texts([final]) == [(0, "We come home.", True)]
    assert [one.is_stable for one in (first, stable, final)] == [False, True, False]


def test_a_long_pause_ends_a_sentence_when_it_became_long() -> None:
    sentences = joiner()
    assert sentences.hear(says(0, "Good morning.", 0.0, 1.0, is_final=True))
    assert sentences.due_s == 2.5
    final, first = sentences.hear(says(1, "We", 9.0, 9.5))
    assert texts([final, first]) == [(0, "Good morning.", True), (1, "We", False)]
    assert (final.arrival_s, first.arrival_s) == (2.5, 9.8)
    assert sentences.due_s is None, "what is being said does not wait"


def goes_on(text: str, bounds: Bounds) -> bool:
    """Whether the sentence of a segment of one second goes on behind it."""
    sentences = joiner(bounds=bounds)
    sentences.hear(says(0, text, 100.0, 101.0, is_final=True))
    return not any(one.is_final for one in sentences.hear(says(1, "Our house burns", 101.0, 101.8)))


@pytest.mark.parametrize(
    ("long", "too_long"), [({"words": 4}, {"words": 2}), ({"speech_s": 1.0}, {"speech_s": 0.6})]
)
def test_a_long_sentence_ends_where_a_clause_may_and_one_that_is_too_long_at_any_pause(
    long: dict[str, Any], too_long: dict[str, Any]
) -> None:
    assert goes_on("We come home now,", USUAL)
    assert not goes_on("We come home now,", Bounds(**long))
    assert goes_on("We come to the.", Bounds(**long))
    assert not goes_on("We come to the.", Bounds(**too_long))


def test_segments_that_are_open_together_are_sentences_of_their_own() -> None:
    sentences = joiner()
    sentences.hear(says(0, "one of", 0.0, 1.0))
    assert texts(sentences.hear(says(1, "two of", 1.2, 2.0))) == [(1, "two of", False)]
    assert texts(sentences.hear(says(0, "one of the", 0.0, 1.0, is_final=True))) == [(0, "one of the", False)]
    assert texts(sentences.hear(says(1, "two of the", 1.2, 2.0, is_final=True))) == [(1, "two of the", False)]
    assert texts(sentences.end(4.0)) == [(0, "one of the", True), (1, "two of the", True)]


def test_of_too_many_open_segments_the_oldest_are_dropped() -> None:
    sentences = joiner()
    for segment in range(MAX_OPEN + 5):
        sentences.hear(says(segment, "one of", segment, segment + 1.0))
    assert [one.pieces[0].segment for one in sentences.state.open] == [*range(5, MAX_OPEN + 5)]


def test_a_boundary_is_scored_once_however_long_the_next_segment_grows() -> None:
    asked = list[str]()

    def scorer(before: str, after: str) -> BoundaryScores:
        asked.append(f"{before} | {after}")
        return BoundaryScores(-2, 1, 1)

    sentences = joiner(scorer=scorer)
    sentences.hear(says(0, "We came late.", 0.0, 1.0, is_final=True))
    heard = ("Berlin", "Berlin slept", "Berlin slept already")
    shown = [one for text in heard for one in sentences.hear(says(1, text, 1.0, 2.0))]
    assert [one.text for one in shown] == [f"We came late, {text}" for text in heard[1:]]
    assert asked == [f"We came late | {text}" for text in heard[:2]], "until it was sure"
    sentences.hear(says(1, "Berlin slept already.", 1.0, 2.0, is_final=True))
    (shown_last,) = sentences.hear(says(2, "Nobody.", 2.0, 2.4, is_final=True))
    assert shown_last.text == "We came late, Berlin slept already, Nobody", "a final grows no more"


def test_a_sentence_of_several_segments_ends_where_the_next_begins() -> None:
    sentences = joiner(scorer=lambda _before, _after: BoundaryScores(9, 0, 0))
    sentences.hear(says(0, "They forged some of the.", 0.0, 1.0, is_final=True))
    (first,) = sentences.hear(says(1, "Forged letters of the", 1.2, 2.0))
    assert first.text == "They forged some of the forged letters of the", "as the word was heard before"
    sentences.hear(says(1, "Forged letters of the town.", 1.2, 2.2, is_final=True))
    assert texts(sentences.hear(says(2, "Nobody came any", 2.4, 3.0))) == [
        (0, "They forged some of the forged letters of the town.", True),
        (2, "Nobody came any", False),
    ]


def test_a_segment_without_words_has_a_final_at_once_or_leaves_its_sentence_as_it_is() -> None:
    assert texts(joiner().hear(says(0, "", 0.0, 1.0, is_final=True))) == [(0, "", True)]
    sentences = joiner()
    sentences.hear(says(0, "The earliest of the", 0.0, 1.0, is_final=True))
    sentences.hear(says(1, "", 1.2, 1.5, is_final=True))
    (update,) = sentences.hear(says(2, "books of the", 1.7, 2.4, is_final=True))
    assert texts([update]) == [(0, "The earliest of the books of the", False)]
    sentences.hear(says(3, "", 2.6, 2.8, is_final=True))
    assert texts(sentences.end()) == [(0, "The earliest of the books of the", True)]


def test_words_that_turn_out_to_be_none_go_and_the_sentence_goes_on() -> None:
    sentences = joiner()
    sentences.hear(says(0, "The earliest of the", 0.0, 1.0, is_final=True))
    sentences.hear(says(1, "you are and", 1.2, 1.5))
    (shown,) = sentences.hear(says(1, "", 1.2, 1.5, is_final=True))
    assert texts([shown]) == [(0, "The earliest of the", False)]
    assert sentences.due_s == 2.5, "the pause began behind the last word"


def test_numbers_that_begin_anew_are_those_of_other_speech() -> None:
    sentences = joiner()
    sentences.hear(says(7, "And of the", 0.0, 1.0, is_final=True))
    assert texts(sentences.hear(says(0, "house", 1.2, 1.5))) == [(7, "And of the", True), (0, "house", False)]


WORDS = ["the", "The", "house", "And", "is.", "red,", "Why?", "It", "was", "of"]
speech = st.lists(
    st.tuples(
        st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join),
        st.sampled_from([0.2, 0.4, 0.9, 1.6]),
        st.integers(0, 2),
    ),
    max_size=8,
)


def spoken(said: list[tuple[str, float, int]]) -> list[Partial]:
    """Each text with as many updates before its final, after the pause."""
    partials, at_s = [], 0.0
    for number, (text, pause_s, updates) in enumerate(said):
        at_s += pause_s
        words = text.split()
        for update in range(updates + 1):
            heard = " ".join(words[: len(words) * (update + 1) // (updates + 1)])
            is_final = update == updates
            end_s = at_s + 0.5 * (update + 1)
            partials.append(says(number, heard, at_s, end_s, is_final=is_final, revision=update))
        at_s += 0.5 * (updates + 1)
    return partials


@given(speech)
def test_each_sentence_has_one_final_after_its_updates_and_loses_no_word(
    said: list[tuple[str, float, int]],
) -> None:
    sentences = joiner()
    heard = [one for partial in spoken(said) for one in sentences.hear(partial)] + sentences.end()
    finals = [one for one in heard if one.is_final]
    assert [one.segment for one in finals] == sorted({one.segment for one in heard}), "each has one, in order"
    for final in finals:
        numbers = [one.revision for one in heard if one.segment == final.segment]
        assert numbers == list(range(len(numbers)))
        last = [one for one in heard if one.segment == final.segment][-1]
        assert last.is_final, "nothing follows a final"
    assert [one.arrival_s for one in heard] == sorted(one.arrival_s for one in heard)

    def bare(text: str) -> list[str]:
        return [word.strip(".,?").casefold() for word in text.split()]

    missing = bare(" ".join(text for text, _, _ in said))
    for word in bare(" ".join(one.text for one in finals)):
        while missing[0] != word:  # a word heard on both sides of a pause is written once
            missing.pop(0)
        missing.pop(0)


@given(speech, st.data())
def test_a_run_that_was_killed_goes_on_from_its_snapshot(
    said: list[tuple[str, float, int]], data: st.DataObject
) -> None:
    partials = spoken(said)
    cut = data.draw(st.integers(0, len(partials)))
    whole, first = joiner(), joiner()
    wanted = [one for partial in partials for one in whole.hear(partial)] + whole.end()
    heard = [one for partial in partials[:cut] for one in first.hear(partial)]
    resumed = joiner(unpack(pack(first.state), SentencesState))
    heard += [one for partial in partials[cut:] for one in resumed.hear(partial)] + resumed.end()
    assert heard == wanted
    assert msgspec.to_builtins(resumed.state) == msgspec.to_builtins(whole.state)


def test_a_sentence_ends_where_another_language_is_spoken_and_is_joined_by_the_rules_of_its_own() -> None:
    told = list[str]()

    def rules(code: str) -> SpokenRules:
        told.append(code)
        return SpokenRules(language(code or "en"))

    sentences, heard = Sentences(SentencesState("talk"), rules), list[Partial]()
    for segment, (spoken, text) in enumerate(
        [("en", "Good morning and"), ("pt", "Bom dia,"), ("pt", "todos os presentes."), ("en", "Thank you.")]
    ):
        at_s = float(segment)
        heard += sentences.hear(
            Partial(
                stream="talk", segment=segment, revision=0, is_final=True, text=text, start_s=at_s,
                end_s=at_s + 0.8, arrival_s=at_s + 0.9, spoken=spoken,
            )
        )  # fmt: skip
    finals = [(one.spoken, one.text) for one in [*heard, *sentences.end()] if one.is_final]
    assert finals == [
        ("en", "Good morning and"),
        ("pt", "Bom dia, todos os presentes."),
        ("en", "Thank you."),
    ]
    assert set(told) == {"en", "pt"}


def test_a_sentence_waits_while_there_is_speech_whose_text_is_not_known_yet() -> None:
    sentences = joiner()
    sentences.hear(says(0, "The book with the type of the.", 0.0, 2.0, is_final=True))
    assert sentences.due_s == 2.0 + USUAL.pause_s
    sentences.speech(3.4)
    assert sentences.due_s == 3.4 + USUAL.pause_s
    sentences.hear(says(1, "And Gutenberg.", 2.4, 4.0, is_final=True))
    assert texts(sentences.end()) == [(0, "The book with the type of the and Gutenberg.", True)]


def test_a_sentence_ends_where_another_voice_begins_also_if_that_is_noticed_after_they_were_joined() -> None:
    sentences = joiner()
    sentences.hear(says(3, "The book with the type of the.", 0.0, 2.0, is_final=True, speaker="Anna"))
    (joined,) = sentences.hear(says(4, "and of the", 2.4, 3.0))
    assert (joined.segment, joined.text) == (3, "The book with the type of the and of the")
    assert joined.speaker == "Anna", "who is not known yet may be the same"
    final, own = sentences.hear(says(4, "and of the", 2.4, 3.2, speaker="2"))
    assert texts([final, own]) == [
        (3, "The book with the type of the.", True), (4, "and of the", False)
    ]  # fmt: skip
    assert (final.speaker, own.speaker, own.revision) == ("Anna", "2", 0)


def test_who_speaks_is_passed_on_as_soon_as_it_is_known_and_the_final_knows_best() -> None:
    sentences = joiner()
    heard = [("", 0.5), ("1", 1.0), ("1", 1.2), ("2", 1.4)]
    shown = [
        one for who, end_s in heard for one in sentences.hear(says(0, "of the", 0.0, end_s, speaker=who))
    ]
    assert [(one.text, one.speaker) for one in shown] == [
        ("of the", msgspec.UNSET), ("of the", "1"), ("of the", "2")
    ]  # fmt: skip
    sentences.hear(says(0, "of the", 0.0, 1.5, is_final=True, speaker="2"))
    sentences.hear(says(1, "house", 1.8, 2.0, is_final=True))
    (final,) = sentences.end()
    assert (final.text, final.speaker) == ("of the house", "2")


who = st.sampled_from(["", "1", "2"])


@settings(max_examples=200)
@given(speech, st.lists(st.tuples(who, who), min_size=8, max_size=8), st.data())
def test_no_sentence_mixes_two_voices_and_each_has_its_own_also_in_a_resumed_run(
    said: list[tuple[str, float, int]], voices: list[tuple[str, str]], data: st.DataObject
) -> None:
    # Of each segment who is thought to speak at first, and who its final says.
    partials = [
        msgspec.structs.replace(one, speaker=voices[one.segment][one.is_final] or msgspec.UNSET)
        for one in spoken(said)
    ]
    cut = data.draw(st.integers(0, len(partials)))
    first = joiner()
    heard = [one for partial in partials[:cut] for one in first.hear(partial)]
    resumed = joiner(unpack(pack(first.state), SentencesState))
    heard += [one for partial in partials[cut:] for one in resumed.hear(partial)] + resumed.end()
    finals = [one for one in heard if one.is_final]
    assert len({one.segment for one in finals}) == len(finals)
    begins = [one.segment for one in finals] + [len(said)]
    for final, (begin, end) in zip(finals, pairwise(begins), strict=True):
        # A last segment without words belongs to no sentence.
        known = {voices[number][1] for number in range(begin, end) if said[number][0]} - {""}
        assert len(known) <= 1
        assert (final.speaker or "") == next(iter(known), "") or not final.text


@given(speech, who)
def test_one_voice_is_joined_as_nobody_is(said: list[tuple[str, float, int]], speaker: str) -> None:
    alone, nobody = joiner(), joiner()
    for partial in spoken(said):
        wanted = nobody.hear(partial)
        heard = alone.hear(msgspec.structs.replace(partial, speaker=speaker or msgspec.UNSET))
        assert texts(heard) == texts(wanted)
    assert texts(alone.end()) == texts(nobody.end())
