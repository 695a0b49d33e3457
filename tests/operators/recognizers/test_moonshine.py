"""Moonshine hears what is said, the same each time, at a cost that does not grow."""

from functools import cache
from itertools import pairwise
from pathlib import Path
from unittest import mock

import pytest

from operators.errors import InputError, UsageError
from operators.events import SAMPLE_RATE, AudioChunk
from operators.recognizers import moonshine
from operators.recognizers.moonshine import MoonshineArch, MoonshineRecognizer
from operators.recognizers.protocol import Hypothesis
from tests.operators.recognizers.speaking import chunks, pcm

BECKETT = ["tried", "failed", "matter", "again", "again", "better"]


def hear(given: list[AudioChunk], recognizer: MoonshineRecognizer | None = None) -> list[Hypothesis]:
    """All hypotheses for the chunks; checks what holds for each of them."""
    recognizer = recognizer or MoonshineRecognizer()
    heard: list[Hypothesis] = []
    for chunk in given:
        new = recognizer.accept(chunk)
        assert all(hypothesis.end_s <= chunk.start_s + chunk.duration_s + 1e-6 for hypothesis in new)
        heard += new
    heard += recognizer.finish()
    recognizer.close()
    assert all(hypothesis.start_s <= hypothesis.end_s for hypothesis in heard)
    return heard


def finals(heard: list[Hypothesis]) -> list[Hypothesis]:
    return [hypothesis for hypothesis in heard if hypothesis.is_final]


@cache
def beckett() -> list[Hypothesis]:
    return hear(chunks(pcm("beckett.wav")))


def test_it_hears_what_is_said_as_segments_in_the_order_of_speech() -> None:
    said = finals(beckett())

    assert [final.segment for final in said] == list(range(6))
    for final, word in zip(said, BECKETT, strict=True):
        assert word in final.text.lower()
    assert all(one.end_s <= next_one.start_s for one, next_one in pairwise(said))


def test_hypotheses_come_while_a_segment_is_spoken() -> None:
    for final in finals(beckett()):
        updates = [hypothesis for hypothesis in beckett() if hypothesis.segment == final.segment]
        assert len(updates) > 1
        assert [update.is_final for update in updates] == [False] * (len(updates) - 1) + [True]


@pytest.mark.parametrize("chunk_s", [0.03, 1.7])
def test_hypotheses_do_not_depend_on_chunks_or_on_what_was_heard_before(chunk_s: float) -> None:
    expected = beckett()
    hear(chunks(pcm("two_cities.wav", 4)))

    assert hear(chunks(pcm("beckett.wav"), chunk_s)) == expected


def test_streams_side_by_side_do_not_disturb_each_other() -> None:
    alone = [hear(chunks(pcm(name, 4))) for name in ("beckett.wav", "two_cities.wav")]
    recognizers = [MoonshineRecognizer(), MoonshineRecognizer()]
    heard: list[list[Hypothesis]] = [[], []]
    for pair in zip(chunks(pcm("beckett.wav", 4)), chunks(pcm("two_cities.wav", 4)), strict=True):
        for recognizer, chunk, own in zip(recognizers, pair, heard, strict=True):
            own += recognizer.accept(chunk)
    for recognizer, own in zip(recognizers, heard, strict=True):
        own += recognizer.finish()
        recognizer.close()

    assert heard == alone


def test_speech_that_the_audio_cuts_off_is_heard_to_its_last_chunk() -> None:
    # "No matter." from 3.3 s on; the audio ends with it, between two updates.
    heard = hear(chunks(pcm("beckett.wav", 4.3)))

    assert "matter" in finals(heard)[-1].text.lower()
    assert finals(heard)[-1].end_s == pytest.approx(4.3, abs=0.05)


def test_replacing_the_native_stream_loses_and_repeats_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moonshine, "_REPLACE_AFTER_S", 1.0)
    replace = MoonshineRecognizer._replace
    with mock.patch.object(MoonshineRecognizer, "_replace", autospec=True, side_effect=replace) as replaced:
        said = finals(hear(chunks(pcm("beckett.wav"))))

    assert replaced.call_count >= 4
    assert [final.segment for final in said] == list(range(6))
    for final, word, before in zip(said, BECKETT, finals(beckett()), strict=True):
        assert word in final.text.lower()
        assert final.start_s == pytest.approx(before.start_s, abs=0.15)


def test_audio_that_jumps_ends_the_segment_and_goes_on_at_its_new_place() -> None:
    first, second = pcm("beckett.wav", 1.3), pcm("beckett.wav", 1.6)
    said = finals(hear(chunks(first) + chunks(second, start_s=100.0)))

    assert [final.segment for final in said] == [0, 1]
    assert said[0].end_s <= 1.3
    assert 100.0 <= said[1].start_s < 100.5


def test_silence_and_nothing_at_all_say_nothing() -> None:
    assert hear(chunks(bytes(2 * 2 * SAMPLE_RATE))) == []
    assert hear([]) == []


def test_a_folder_that_is_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        MoonshineRecognizer(model_path=tmp_path / "model")
    with pytest.raises(InputError, match=r"tokenizer\.bin"):
        MoonshineRecognizer(model_path=tmp_path)
    (tmp_path / "tokenizer.bin").write_bytes(b"no tokenizer")
    with pytest.raises(InputError, match="cannot be loaded as 'base'"):
        MoonshineRecognizer(model_path=tmp_path, arch=MoonshineArch.BASE)


def test_an_interval_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(UsageError, match="update_interval_s"):
        MoonshineRecognizer(update_interval_s=0)
