"""Where utterances begin and end, by what a voice detector says."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.events import SAMPLE_RATE
from operators.recognizers.segmenter import HOP, RULES, Samples, Segmenter, SegmentRules, Window

HOPS_A_SECOND = SAMPLE_RATE / HOP


def speech(*parts: tuple[float, float]) -> Samples:
    """Audio whose samples are the probability that a detector is to give: (seconds, probability)."""
    return np.concatenate(
        [np.full(round(seconds * HOPS_A_SECOND) * HOP, share, np.float32) for seconds, share in parts]
    )


def cut(
    audio: Samples, chunk: int = 1600, interval_s: float = 0.5,
    change: Callable[[int, int], tuple[int, int] | None] | None = None,
) -> list[Window]:  # fmt: skip
    segmenter = Segmenter(lambda hop: float(hop.mean()), interval_s, RULES, change)
    windows = [
        window for at in range(0, len(audio), chunk) for window in segmenter.accept(audio[at : at + chunk])
    ]
    return [*windows, *segmenter.finish()]


def last(windows: list[Window]) -> list[Window]:
    return [window for window in windows if window.is_final]


def test_a_pause_ends_an_utterance_and_silence_is_none() -> None:
    first, second = last(cut(speech((1, 0), (2, 1), (1, 0), (2, 1), (1, 0))))
    assert first.start / SAMPLE_RATE == pytest.approx(0.6, abs=0.1), "before its first voiced hop"
    assert first.end / SAMPLE_RATE == pytest.approx(3.25, abs=0.1)
    assert second.segment == 1
    assert cut(speech((5, 0))) == []


def test_windows_grow_at_the_interval_until_the_last_and_in_the_first_second_twice_as_fast() -> None:
    windows = cut(speech((3, 1), (1, 0)))
    lengths = [len(window.samples) / SAMPLE_RATE for window in windows]
    assert [window.is_final for window in windows] == [False] * (len(windows) - 1) + [True]
    growths = [longer - shorter for shorter, longer in pairwise(lengths[:-1])]
    assert growths == pytest.approx([0.25] * 3 + [0.5] * (len(growths) - 3), abs=0.04)
    assert lengths[0] == pytest.approx(RULES.onset_s + 0.25, abs=0.04), "the audio has nothing before it"


def test_a_word_or_two_wait_for_what_follows_a_pause_that_ends_others() -> None:
    pause = (0.35, 0.0)
    assert len(last(cut(speech((0.6, 1), pause, (2, 1), pause, (2, 1), (1, 0))))) == 2
    assert len(last(cut(speech((0.6, 1), (0.6, 0), (2, 1), (1, 0))))) == 2


def test_a_long_utterance_ends_at_a_pause_too_short_for_others() -> None:
    short = (0.16, 0.0)
    first, _ = last(cut(speech((3, 1), short, (7, 1), short, (3, 1), (1, 0))))
    assert first.end / SAMPLE_RATE == pytest.approx(10.3, abs=0.1)


@pytest.mark.parametrize("chunk", [1600, 48_000])
def test_an_utterance_ends_at_the_quietest_moment_about_which_another_voice_begins(chunk: int) -> None:
    quiet = (0.06, 0.6)
    audio = speech((2, 1), quiet, (1, 1), quiet, (1, 1), quiet, (4, 1), (1, 0))
    asked: list[tuple[int, int]] = []

    def change(begin: int, end: int) -> tuple[int, int] | None:
        """Two seconds after another voice began that is known; one began before the sound."""
        asked.append((begin, end))
        for moment_s in (3.1, 4.2):
            moment = round(moment_s * SAMPLE_RATE)
            if begin < moment - SAMPLE_RATE // 2 and end >= moment + 2 * SAMPLE_RATE:
                return moment - 5000, moment + 5000
        return -9000, 0

    windows = cut(audio, chunk, change=change)
    finals = last(windows)
    assert [one.end / SAMPLE_RATE for one in finals] == pytest.approx([3.1, 4.2, 8.4], abs=0.1)
    assert [one.start for one in finals] == [0, finals[0].end, finals[1].end]
    assert [one.segment for one in finals] == [0, 1, 2]
    assert len(asked) < len(audio) / SAMPLE_RATE / 0.35, "it takes time to look"
    assert windows == sorted(windows, key=lambda one: one.segment)


def test_speech_without_a_pause_is_cut_where_it_is_quietest_and_nothing_is_lost() -> None:
    windows = cut(speech((13, 1), (0.06, 0.6), (20, 1), (1, 0)))
    finals = last(windows)
    longest = SegmentRules().longest_s * SAMPLE_RATE + HOP
    assert max(window.end - window.start for window in windows) <= longest
    assert finals[0].end / SAMPLE_RATE == pytest.approx(13.05, abs=0.1)
    assert all(next_one.start == one.end for one, next_one in pairwise(finals))


def test_a_breath_after_an_utterance_is_no_utterance() -> None:
    assert len(last(cut(speech((2, 1), (1, 0), (0.09, 1), (1, 0))))) == 1


def test_memory_does_not_grow_with_the_stream() -> None:
    segmenter = Segmenter(lambda hop: float(hop.mean()), 0.5)
    for _ in range(30):
        list(segmenter.accept(speech((14, 1), (1, 0))))
        assert len(segmenter._audio) <= 16 * SAMPLE_RATE
    list(segmenter.accept(speech((60, 0))))
    assert len(segmenter._audio) <= SAMPLE_RATE


@given(
    st.lists(st.tuples(st.floats(0.05, 6), st.sampled_from([0.0, 0.3, 0.6, 1.0])), min_size=1, max_size=6),
    # Fewer samples at a time take long, and a hop is more than that.
    st.integers(100, 40_000),
    st.floats(0.1, 10),
)
def test_utterances_depend_on_the_audio_alone_and_never_overlap(
    parts: list[tuple[float, float]], chunk: int, interval_s: float
) -> None:
    audio = speech(*parts)
    windows = cut(audio, chunk, interval_s)
    whole = cut(audio, len(audio) + 1, interval_s)
    # However seldom there are updates, the last window of an utterance has all of its audio.
    for one, other in zip(last(windows), last(cut(audio)), strict=True):
        assert (one.segment, one.start, one.end) == (other.segment, other.start, other.end)
        assert np.array_equal(one.samples, other.samples)

    assert [window[:3] for window in windows] == [window[:3] for window in whole]
    for mine, other in zip(windows, whole, strict=True):
        assert np.array_equal(mine.samples, other.samples)
        assert np.array_equal(mine.samples[: mine.end - mine.start], audio[mine.start : mine.end])
    finals = last(windows)
    assert [window.segment for window in finals] == list(range(len(finals)))
    assert all(one.end <= next_one.start for one, next_one in pairwise(finals))
    for one, next_one in pairwise(windows):
        assert next_one.segment == one.segment + one.is_final
