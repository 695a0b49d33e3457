"""When subtitles are on the screen."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.subtitles.breaking import CueText
from operators.subtitles.timing import (
    GAP_MS,
    MAX_CUE_MS,
    MIN_CUE_MS,
    Speech,
    SpeechProgress,
    needed_ms,
    place,
)


def blocks(*columns: int) -> list[CueText]:
    return [CueText(("x" * each,), each) for each in columns]


def times(columns: list[int], *given: Any) -> list[tuple[int, int]]:
    return [(cue.start_ms, cue.end_ms) for cue in place(blocks(*columns), *given)]


@pytest.mark.parametrize(
    ("columns", "speech", "free_ms", "next_ms", "cue"),
    [
        (17, Speech.at(1, 4), 0, None, (1000, 4000)),
        (68, Speech.at(1, 2), 0, None, (1000, 5000)),
        (68, Speech.at(1, 2), 0, 3500, (1000, 3500 - GAP_MS)),
        (17, Speech.at(1, 4), 3000, None, (3000, 4000)),
        (34, Speech.at(1, 2), 30_000, None, (30_000, 32_000)),
        (34, Speech.at(0, 10), 0, 500, (0, 2000)),
        (34, Speech.at(10, 11.5), 0, 10_500, (10_000, 11_500)),
    ],
    ids=[
        "as long as the speech", "a long text until it is read", "unless the next speech comes",
        "late, when the screen is free", "and then as long as reading takes",
        "when two speak at once, as long as reading takes", "or as the speech",
    ],
)  # fmt: skip
def test_a_cue_stays(
    columns: int, speech: Speech, free_ms: int, next_ms: int | None, cue: tuple[int, int]
) -> None:
    assert times([columns], speech, free_ms, next_ms) == [cue]


def test_cues_of_one_final_share_its_time_by_their_length() -> None:
    assert times([60, 20], Speech.at(0, 8.08), 0, None) == [(0, 6000), (6000 + GAP_MS, 8080)]


def test_each_cue_stays_until_it_is_read_when_two_speak_at_once() -> None:
    cues = times([34, 34], Speech.at(10, 30), 0, 10_500)
    assert cues == [(10_000, 12_000), (12_000 + GAP_MS, 14_000 + GAP_MS)]


def test_a_text_that_was_heard_once_on_the_way_is_timed_by_that() -> None:
    speech = Speech(1000, 10_000, (SpeechProgress(36, 7000), SpeechProgress(80, 10_000)))
    assert speech.lasted(blocks(18, 18, 44)) == [3000, 3000, 3000]


def test_times_that_cannot_be_are_none() -> None:
    assert Speech.at(5, 2) == Speech(5000, 5000)
    assert Speech.at(1e300, 1e301) == Speech(0, 0)
    assert Speech.at(float("nan"), float("inf")) == Speech(0, 0)
    assert Speech.at(2, 1e300) == Speech(2000, 2000)


moments = st.integers(0, 60_000)


@given(st.lists(st.integers(0, 84), min_size=1, max_size=8), moments, moments, moments, st.none() | moments)
def test_whatever_is_placed_neither_overlaps_nor_flashes_nor_stands(
    columns: list[int], start_ms: int, long_ms: int, free_ms: int, next_ms: int | None
) -> None:
    speech = Speech(start_ms, start_ms + long_ms)
    given_blocks = blocks(*columns)
    cues = place(given_blocks, speech, free_ms, next_ms)
    assert [cue.lines for cue in cues] == [block.lines for block in given_blocks]
    assert cues[0].start_ms == max(start_ms, free_ms)
    assert all(MIN_CUE_MS <= cue.end_ms - cue.start_ms <= MAX_CUE_MS for cue in cues)
    assert all(later.start_ms - earlier.end_ms == GAP_MS for earlier, later in pairwise(cues))
    shortest = len(cues) * (MIN_CUE_MS + GAP_MS)
    if next_ms is not None and next_ms >= max(speech.end_ms, cues[0].start_ms + shortest):
        assert cues[-1].end_ms <= next_ms - GAP_MS
    needed = sum(map(needed_ms, given_blocks)) + GAP_MS * len(cues)
    if next_ms is None or next_ms >= max(speech.end_ms, cues[0].start_ms + needed):
        for cue, block in zip(cues, given_blocks, strict=True):
            assert cue.end_ms - cue.start_ms >= needed_ms(block)
