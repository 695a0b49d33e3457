"""A sentence ends where speakers end it, not where they pause."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.languages import language
from operators.model_errors import ErrorKind, ModelError
from operators.sentences.seam import Boundary, BoundaryScorer, BoundaryScores, Decision, Verdict, decide
from operators.sentences.words import Spellings


def _at(
    before: str, after: str, pause_s: float = 0.0, *, is_whole: bool = False, code: str = "en"
) -> Boundary:
    return Boundary(before, after, pause_s, language(code), is_whole)


def _verdict(seam: Boundary, scorer: BoundaryScorer | None) -> Verdict:
    return decide(seam, scorer).verdict


class _Says:
    """A scorer with constant scores."""

    def __init__(self, ends: float = 0.0, comma: float = 0.0, capital: float = 0.0) -> None:
        self.scores = BoundaryScores(ends, comma, capital)
        self.asked: list[str] = []

    def __call__(self, before: str, after: str) -> BoundaryScores:
        self.asked.append(f"{before} | {after}")
        return self.scores


def test_without_a_scorer_small_words_weigh_more() -> None:
    seam = _at("It came early.", "Which was late", 0.05)
    assert (_verdict(seam, None), _verdict(seam, _Says(0))) == (Verdict.GOES_ON, Verdict.ENDS)


def test_nothing_is_certain_before_something_follows() -> None:
    assert _verdict(_at("That is all.", "", 0.3), None) is Verdict.UNSURE


@pytest.mark.parametrize("before", ["We went to the.", "Not only fast but", "the block-books, which"])
def test_no_sentence_ends_with_such_a_word(before: str) -> None:
    assert _verdict(_at(before, "House and", 0.2), _Says(20)) is Verdict.GOES_ON


def test_a_small_letter_in_a_final_goes_on_unless_nothing_has_a_capital() -> None:
    ends, before, after = _Says(9), "It was the end.", "he went home and"
    assert _verdict(_at(before, after, is_whole=True), ends) is Verdict.GOES_ON
    assert _verdict(_at(before, after), ends) is Verdict.ENDS, "partials may have none"
    assert _verdict(_at(before.lower(), after, is_whole=True), ends) is Verdict.ENDS


def test_the_judge_is_heard_and_outvoted_by_a_question_mark() -> None:
    late, nobody = "It was late.", "Nobody came any"
    assert _verdict(_at(late, nobody, 0.1), _Says(8)) is Verdict.ENDS
    assert _verdict(_at(late, nobody, 0.0), _Says(-8)) is Verdict.GOES_ON
    assert _verdict(_at(late, "The men came", 0.05), _Says(-8)) is Verdict.GOES_ON
    assert _verdict(_at(late, nobody), _Says(0.8)) is Verdict.ENDS, "just so"
    assert _verdict(_at("Was it late?", nobody, 0.1), _Says(-1)) is Verdict.ENDS


def test_the_fewer_words_are_heard_the_surer_a_decision_must_be() -> None:
    seam, doubtful = _at("It was late.", "Nobody", 0.05), _Says(-2)
    assert _verdict(seam, _Says(15)) is Verdict.ENDS
    assert _verdict(seam, doubtful) is Verdict.UNSURE
    assert _verdict(seam._replace(is_whole=True), doubtful) is not Verdict.UNSURE
    assert _verdict(seam._replace(after="Nobody came any"), doubtful) is not Verdict.UNSURE


def test_clear_cases_do_not_run_the_scorer() -> None:
    scorer = _Says()
    decide(_at("That is all.", "", 0.3), scorer)
    for after in ("And on", "1455 was", "NASA fell"):
        decide(_at("We went to the.", after, 0.3), scorer)
    assert scorer.asked == []
    assert decide(_at("We went to the.", "NASA fell", 0.3), scorer).keeps_capital
    decide(_at("We went to the.", "Berlin wall", 0.3), scorer)
    assert scorer.asked == ["We went to the | Berlin wall"], "whether that is a name"


def test_a_judge_that_fails_leaves_the_decision_to_the_rules() -> None:
    def fails(_before: str, _after: str) -> BoundaryScores:
        raise ModelError(ErrorKind.FAILED_PASS, "no memory")

    seam = _at("by a similar process.", "Produced the", 0.05)
    assert decide(seam, fails) == decide(seam, None)


def test_the_better_spelling_is_chosen() -> None:
    boundary = _at("the earliest book.", "Gutenberg printed in", 0.0)
    assert decide(boundary, _Says(-9, capital=0.5)).keeps_capital
    assert not decide(boundary, _Says(-9, capital=-0.5)).keeps_capital
    partial = _at("He came from the city.", "berlin and", 0.0)
    assert decide(partial, _Says(-9, capital=2)).keeps_capital, "its final may have a capital"
    assert decide(boundary, _Says(-9, comma=0.5)).mark == ","
    assert decide(boundary, _Says(-9, comma=-0.5)).mark == ""
    comma = boundary._replace(before="the earliest book,")
    assert decide(comma, _Says(-9, comma=-0.5)).mark == ",", "the recogniser heard one"
    assert decide(comma, _Says(-9, comma=-2)).mark == ""
    assert (decide(comma, None).mark, decide(boundary, None).mark) == (",", "")


def test_a_word_is_spelled_as_it_was_heard_within_sentences() -> None:
    spellings = Spellings()
    spellings.learn("It is Smith who forged “Faust” there. Forged letters are rare.")
    assert spellings.is_large("Smith,")
    assert spellings.is_large("Faust")
    assert spellings.is_large("forged") is False
    assert spellings.is_large("It") is None, "the first word of a sentence says nothing"
    assert not decide(_at("He was.", "Forged in", 0.0), _Says(-9, capital=9), spellings).keeps_capital


def test_languages_without_spaces_end_at_their_full_stop_and_go_on_behind_a_comma() -> None:
    assert _verdict(_at("雨でした。", "明日は", 0.1, code="ja"), None) is Verdict.ENDS
    assert _verdict(_at("昨日は、", "雨でした", 0.1, code="zh"), None) is Verdict.GOES_ON


@given(st.text(), st.text(), st.floats(0, 10), st.sampled_from(["en", "de", "ja", "ar"]), st.booleans())
def test_every_text_gets_a_decision(
    before: str, after: str, pause_s: float, code: str, is_whole: bool
) -> None:
    assert isinstance(decide(Boundary(before, after, pause_s, language(code), is_whole), _Says(1)), Decision)
