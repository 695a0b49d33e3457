"""Latency as the field defines it, for text that may be revised."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.metrics.latency import (
    Clocks,
    TokenTimes,
    average_lagging,
    length_adaptive_average_lagging,
    token_lags,
)

updates = st.lists(st.lists(st.sampled_from("abc"), max_size=6).map(tuple), min_size=1, max_size=6)
sources = st.floats(0.1, 60)
delays = st.lists(st.floats(0, 60), min_size=1, max_size=12).map(sorted)
lengths = st.integers(1, 20)
MEASURES = (average_lagging, length_adaptive_average_lagging)


def follow(texts: list[tuple[str, ...]]) -> TokenTimes:
    times = TokenTimes()
    for number, tokens in enumerate(texts, start=1):
        times.update(tokens, Clocks(number, number + 0.5))
    return times


def test_a_token_is_final_since_the_update_that_last_changed_the_text_before_it() -> None:
    times = follow([("Das", "war"), ("Das", "ist", "gut"), ("Das", "ist", "gut", "so")])
    assert [at.heard_s for at in times.final] == [1, 2, 2, 3]
    assert [at.heard_s for at in times.first] == [1, 1, 2, 3]
    assert [at.seen_s for at in times.final] == [1.5, 2.5, 2.5, 3.5]


@given(updates)
def test_each_token_stood_since_it_was_final_and_not_before(texts: list[tuple[str, ...]]) -> None:
    last = texts[-1]
    final = follow(texts).final
    assert len(final) == len(last)
    for place, at in enumerate(final):
        since = int(at.heard_s) - 1
        assert all(text[: place + 1] == last[: place + 1] for text in texts[since:])
        assert since == 0 or texts[since - 1][: place + 1] != last[: place + 1]


@given(st.lists(st.sampled_from("abc"), max_size=8), st.lists(st.integers(0, 8), max_size=5))
def test_what_is_never_revised_is_final_when_it_is_first_shown(words: list[str], shown: list[int]) -> None:
    texts = [tuple(words[:length]) for length in [*sorted(shown), len(words)]]
    times = follow(texts)
    assert times.first == times.final


@given(sources, lengths)
def test_who_translates_each_word_as_it_begins_does_not_lag(source_s: float, length: int) -> None:
    ideal = [number * source_s / length for number in range(length)]
    assert [measure(ideal, source_s, length) for measure in MEASURES] == pytest.approx([0, 0], abs=1e-9)
    assert token_lags(ideal, source_s) == pytest.approx([0] * length, abs=1e-9)


@given(sources, lengths, lengths)
def test_who_waits_for_the_end_of_the_speech_lags_by_all_of_it(
    source_s: float, length: int, reference: int
) -> None:
    assert average_lagging([source_s] * length, source_s, reference) == pytest.approx(source_s)


@given(delays, sources, lengths)
def test_lagging_is_never_more_than_the_last_delay(
    delays_s: list[float], source_s: float, reference: int
) -> None:
    for measure in MEASURES:
        assert (measure(delays_s, source_s, reference) or 0.0) <= delays_s[-1] + 1e-9
    lags = token_lags(delays_s, source_s)
    assert all(lag <= delay + 1e-9 for lag, delay in zip(lags, delays_s, strict=True))


@given(delays, sources, lengths)
def test_a_longer_hypothesis_is_not_rewarded(delays_s: list[float], source_s: float, reference: int) -> None:
    al, laal = (measure(delays_s, source_s, reference) for measure in MEASURES)
    assert al is not None
    assert laal is not None
    assert laal >= al - 1e-9
    if len(delays_s) <= reference:
        assert laal == al


@given(delays, lengths, st.floats(0, 10))
def test_lagging_grows_with_the_delay_while_there_is_speech_to_come(
    delays_s: list[float], reference: int, more_s: float
) -> None:
    source_s = 71.0  # longer than every delay here, so that no token is left out
    for measure in MEASURES:
        before = measure(delays_s, source_s, reference) or 0.0
        after = measure([delay + more_s for delay in delays_s], source_s, reference)
        assert after == pytest.approx(before + more_s, abs=1e-6)


def test_tokens_that_all_came_after_the_speech_lag_by_the_first_delay() -> None:
    assert average_lagging([12.0, 30.0], 10, 2) == 12


@pytest.mark.parametrize(("delays_s", "source_s", "length"), [([], 5.0, 3), ([1.0], 0.0, 1), ([1.0], 5.0, 0)])
def test_without_tokens_speech_or_reference_there_is_no_average_lagging(
    delays_s: list[float], source_s: float, length: int
) -> None:
    assert average_lagging(delays_s, source_s, length) is None
