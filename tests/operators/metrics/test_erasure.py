"""Erasure as the papers define it, and its running sums."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.events import Caption
from operators.metrics import tokenizers
from operators.metrics.erasure import ErasureMeter, erasure
from operators.metrics.summary import Percentiles, SummaryMeter
from operators.metrics.tokenizers import erasure_signature
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


def meter() -> ErasureMeter:
    return ErasureMeter("13a")


@given(words, words)
def test_erasure_is_what_must_go_before_the_new_text_can_be_typed(
    before: tuple[str, ...], after: tuple[str, ...]
) -> None:
    erased = erasure(before, after)
    kept = before[: len(before) - erased]
    assert after[: len(kept)] == kept
    assert erased == 0 or before[: len(kept) + 1] != after[: len(kept) + 1]


def test_what_was_withheld_erases_nothing_of_what_was_shown() -> None:
    measure = meter()
    first, second = captions("Das", "Das ist", withheld=" war")
    raw = measure.record(first), measure.record(second)
    assert (raw[1].raw.erased, raw[1].shown.erased) == (1, 0)


def test_segments_are_pooled_and_averaged() -> None:
    measure, summary = meter(), SummaryMeter()
    for one in captions("a", "b c d e") + captions("a b", "c", segment=1):
        summary.add(measure.record(one))
    result = summary.summary({})
    assert result.ne_raw == pytest.approx(3 / 5)
    assert result.ne_raw_mean == pytest.approx((1 / 4 + 2) / 2)
    assert (result.segments, result.updates) == (2, 4)
    assert (result.latency_ms, result.latency_from_speech_ms) == (
        Percentiles(250, 250),
        Percentiles(500, 500),
    )
    assert measure.state.open == {}


@given(st.lists(st.lists(st.text("ab ", max_size=8), min_size=1, max_size=4), max_size=4))
def test_running_figures_end_where_the_summary_ends(segments: list[list[str]]) -> None:
    measure, summary, last = meter(), SummaryMeter(), None
    for number, texts in enumerate(segments):
        for one in captions(*texts, segment=number):
            last = measure.record(one)
            summary.add(last)
    if last is not None and summary.summary({}).ne_raw is not None:
        assert last.raw.ne_stream == pytest.approx(summary.summary({}).ne_raw)


def test_segments_that_never_end_are_counted_as_they_stand_and_forgotten() -> None:
    measure, last = meter(), None
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
