"""Erasure as the papers define it, and its running sums."""

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.events import Caption
from operators.metrics import tokenizers
from operators.metrics.erasure import ErasureMeter, Marks, Step, Support, erasure, marks, support
from operators.metrics.summary import Percentiles, SummaryMeter
from operators.metrics.tokenizers import erasure_signature, spelled, tokenizer
from tests.subtitled import caption

words = st.lists(st.sampled_from("abc"), max_size=5).map(tuple)


def captions(*texts: str, segment: int = 0, withheld: str = "") -> list[Caption]:
    return [
        caption(
            text, 0, number, segment=segment, revision=number, is_final=number == len(texts) - 1,
            withheld=withheld * (number < len(texts) - 1), arrival_s=number + 0.25, ready_s=number + 0.5,
        )
        for number, text in enumerate(texts)
    ]  # fmt: skip


@given(words, words)
def test_erasure_is_what_must_go_before_the_new_text_can_be_typed(
    before: tuple[str, ...], after: tuple[str, ...]
) -> None:
    erased = erasure(before, after)
    kept = before[: len(before) - erased]
    assert after[: len(kept)] == kept
    assert erased == 0 or before[: len(kept) + 1] != after[: len(kept) + 1]


def test_what_was_withheld_erases_nothing_of_what_was_shown() -> None:
    measure = ErasureMeter("13a")
    _, second = map(measure.record, captions("Das", "Das ist", withheld=" war"))
    assert (second.raw.erased, second.shown.erased) == (1, 0)


def test_segments_are_pooled_and_averaged() -> None:
    measure, summary = ErasureMeter("13a"), SummaryMeter()
    for one in captions("a", "b c d e") + captions("a b", "c", segment=1):
        summary.add(measure.record(one))
    result = summary.summary({})
    assert (result.ne_raw, result.ne_raw_mean) == pytest.approx((3 / 5, (1 / 4 + 2) / 2))
    assert (result.segments, result.updates) == (2, 4)
    assert result.latency_ms == Percentiles(250, 250)
    assert result.latency_from_speech_ms == Percentiles(500, 500)
    assert measure.state.open == {}


@given(st.lists(st.lists(st.text("ab ", max_size=8), min_size=1, max_size=4), max_size=4))
def test_running_figures_end_where_the_summary_ends(segments: list[list[str]]) -> None:
    measure, summary, last = ErasureMeter("13a"), SummaryMeter(), None
    for number, texts in enumerate(segments):
        for one in captions(*texts, segment=number):
            last = measure.record(one)
            summary.add(last)
    if last is not None and summary.summary({}).ne_raw is not None:
        assert last.raw.ne_stream == pytest.approx(summary.summary({}).ne_raw)


def test_segments_that_never_end_are_counted_as_they_stand_and_forgotten() -> None:
    measure, last = ErasureMeter("13a"), None
    for number in range(1200):
        last = measure.record(captions("a b", "c", segment=number)[0])
    assert last is not None
    assert len(measure.state.open) == 1024
    assert measure.state.raw.length == 2 * (1200 - 1024)
    assert last.raw.ne_stream == 0


def test_a_further_room_gets_its_signature_without_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    signature = erasure_signature("13a", 2)

    def read(_name: str) -> str:
        raise OSError("too many open files")

    monkeypatch.setattr(tokenizers, "version", read)
    assert erasure_signature("13a", 2) == signature
    assert signature.startswith("tok:13a|aggr:pooled|mask:2|sacrebleu:")


@given(st.lists(st.lists(st.sampled_from("ab"), max_size=6).map(tuple), min_size=1, max_size=8))
def test_a_settled_token_is_in_every_later_text_and_the_next_one_is_not(
    updates: list[tuple[str, ...]],
) -> None:
    steps = [Step(len(new), erasure(old, new)) for old, new in pairwise([(), *updates])]
    for number, mark in enumerate(marks(steps)):
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


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Guten Morgen, Museum.", ["Guten", " Morgen", ",", " Museum", "."]),
        ("Müller &amp; Söhne", ["Müller", " &", " Söhne"]),
    ],
    ids=["punctuation goes back to its word", "what a tokenizer rewrote stands as it made it"],
)
def test_tokens_are_spelled_as_in_their_text(text: str, tokens: list[str]) -> None:
    assert spelled(text, tokenizer("13a")(text)) == tokens


WORDS = st.lists(st.sampled_from(["das", "Haus", "haus", "ist", "rot", ".", ",", "–"]), max_size=8)


def test_an_invented_ending_is_counted_word_by_word_and_marks_are_none() -> None:
    partial, final = "Wir reden über die Art , wie man .", "Wir reden über den Bahnhof , der wurde ."
    assert support(partial.split(), [final.split()]) == Support(words=7, unsupported=4)


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
