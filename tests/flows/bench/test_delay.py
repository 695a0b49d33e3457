"""How much later a word reaches the model when the end of unfinished speech is held back."""

import pytest

from flows.bench.corpus import BenchSegment
from flows.bench.delay import mean_delay_s
from operators.decoding.conditioning import Conditioning

SPEECH = BenchSegment("s/0", ("we", "we are", "we are here now"), arrivals_s=(1.0, 1.5, 3.0))


def test_nothing_waits_where_nothing_is_held_back() -> None:
    assert mean_delay_s([SPEECH], Conditioning()) == 0.0
    assert mean_delay_s([SPEECH], Conditioning(strip_punctuation=True)) == 0.0


def test_a_word_that_is_held_back_waits_for_the_update_that_adds_another() -> None:
    # A lone word is never held back; "are" waits from 1.5 s to the final at 3 s, which holds nothing back.
    assert mean_delay_s([SPEECH], Conditioning(hold_back=1)) == pytest.approx(1.5 / 4)


def test_a_word_counts_from_its_place_whatever_the_recogniser_says_there_later() -> None:
    shrinking = BenchSegment("s/0", ("we are all", "we are", "we were here"), arrivals_s=(1.0, 2.0, 4.0))
    assert mean_delay_s([shrinking], Conditioning()) == 0.0
    assert mean_delay_s([shrinking], Conditioning(hold_back=1)) == pytest.approx(3.0 / 3)


def test_a_text_without_times_has_no_delay_to_tell() -> None:
    assert mean_delay_s([SPEECH._replace(arrivals_s=None)], Conditioning(hold_back=1)) is None
    assert mean_delay_s([], Conditioning()) is None
