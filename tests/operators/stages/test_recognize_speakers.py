"""The recognize stage says who speaks, also in a resumed run, and names that are given split nothing."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path

import bytewax.operators as op
import numpy as np
import pytest
from bytewax.dataflow import Dataflow, Stream
from bytewax.recovery import RecoveryConfig, init_db_dir
from bytewax.testing import TestingSink, TestingSource, run_main
from typing_extensions import override

from operators.events import SAMPLE_RATE, AudioChunk, Partial
from operators.recognizers.protocol import Change, Hypothesis, PartsVoices, Recognizer
from operators.sentences.joining import Sentences
from operators.speakers import Namings
from operators.stages.recognize import Heard, Speakers, listen
from operators.stages.sentences import join_sentences
from operators.voices.assigning import VoicesState
from operators.voices.listening import Listener, MakeListener, OnlySpeaker, VoiceListener
from tests.tiny_voices import Tones, voice

LOW, HIGH = 300.0, 1500.0


def chunk(number: int, hertz: float = LOW, *, is_last: bool = False, pauses: bool = False) -> AudioChunk:
    """Three seconds of a "voice"; a pause has no sound."""
    pcm = b"" if pauses else np.round(voice(hertz, 3.0) * 32767).astype("<i2").tobytes()
    return AudioChunk(stream="talk", start_s=3.0 * number, pcm=pcm, is_last=is_last, pauses=pauses)


class Segments(Recognizer):
    """Hears a segment in each chunk, or one in all: its text is the next one, or "so"."""

    def __init__(self, texts: Sequence[str] = (), *, is_final: bool = True) -> None:
        self._texts = iter(texts)
        self._is_final = is_final
        self._count = 0
        self._start_s: float | None = None

    def accept(self, chunk: AudioChunk) -> Sequence[Hypothesis]:
        if not chunk.pcm:
            return ()
        if self._is_final or self._start_s is None:
            self._start_s = chunk.start_s
        text, end_s = next(self._texts, "so"), chunk.start_s + len(chunk.pcm) / 2 / SAMPLE_RATE
        self._count += self._is_final
        return [
            Hypothesis(
                segment=self._count, text=text, is_final=self._is_final, start_s=self._start_s, end_s=end_s
            )
        ]

    def finish(self) -> Sequence[Hypothesis]:
        return ()

    def close(self) -> None:
        pass


def tones(_stream: str, state: VoicesState) -> Listener:
    return VoiceListener(Tones(), state, 100)


def run(
    source: Sequence[AudioChunk],
    make: MakeListener | None = tones,
    namings: Namings | None = None,
    recognizer: Callable[[str], Recognizer] = lambda _stream: Segments(),
    processed: Callable[[AudioChunk], None] = lambda _chunk: None,
    recovery: Path | None = None,
    *,
    batch_size: int = 1,
    joins: bool = False,
) -> list[Partial]:
    partials: list[Partial] = []
    flow = Dataflow("speakers")
    up: Stream[AudioChunk] = op.input("in", flow, TestingSource(source, batch_size))
    speakers = make and Speakers(make, namings or Namings())
    heard: Stream[Heard] = listen("listen", up, recognizer, None, processed, speakers)
    if joins:
        heard = join_sentences("sentences", heard, Sentences)
    only = op.filter_map("partials", heard, lambda one: one if isinstance(one, Partial) else None)
    op.output("out", only, TestingSink(partials))
    config = RecoveryConfig(str(recovery)) if recovery else None  # type: ignore[no-untyped-call] # Bytewax's
    run_main(flow, recovery_config=config, epoch_interval=timedelta(0))  # type: ignore[no-untyped-call] # same
    return partials


def who(partials: Sequence[Partial]) -> list[str]:
    return [partial.speaker or "" for partial in partials if partial.is_final]


class KnownLater(OnlySpeaker):
    """Knows who speaks from the third look on."""

    looks = 0

    @override
    def speaker(self, hypothesis: Hypothesis) -> str:
        self.looks += 1
        return self.name if self.looks > 2 else ""


def test_a_speaker_who_is_known_later_is_told_once_although_the_words_are_the_same() -> None:
    shown = run(
        [chunk(number) for number in range(5)], lambda _stream, _state: KnownLater("1"),
        recognizer=lambda _stream: Segments(is_final=False),
    )  # fmt: skip
    told = [(one.revision, one.text, one.speaker or "", one.is_final) for one in shown]
    assert told == [(0, "so", "", False), (1, "so", "1", False), (2, "so", "1", True)]


def test_a_resumed_run_knows_the_voices_also_of_before_a_run_that_told_none(tmp_path: Path) -> None:
    init_db_dir(tmp_path, 1)  # type: ignore[no-untyped-call] # Bytewax's
    spoken = enumerate([LOW, HIGH, HIGH, HIGH, 800.0, LOW])
    source = [chunk(number, hertz) for number, hertz in spoken]
    assert who(run(source[:2], recovery=tmp_path)) == ["1", "2"]
    assert who(run(source[:3], None, recovery=tmp_path)) == [""]
    assert who(run(source, recovery=tmp_path)) == ["2", "3", "1"]


@pytest.mark.parametrize("batch_size", [1, 9])
@pytest.mark.parametrize("is_final", [True, False])
def test_after_a_pause_voices_are_known_and_after_the_last_chunk_they_are_forgotten(
    batch_size: int, *, is_final: bool
) -> None:
    source = [
        chunk(0, LOW), chunk(1, pauses=True), chunk(1, HIGH), chunk(2, pauses=True),
        chunk(2, LOW, is_last=True), chunk(0, HIGH), chunk(1, is_last=True, pauses=True),
    ]  # fmt: skip
    heard = run(source, recognizer=lambda _stream: Segments(is_final=is_final), batch_size=batch_size)
    assert who(heard) == ["1", "2", "1", "1"]


@pytest.mark.parametrize("make", [tones, lambda _stream, _state: OnlySpeaker("1")], ids=["voices", "only"])
def test_a_name_that_is_given_within_a_sentence_is_of_the_whole_sentence(make: MakeListener) -> None:
    namings = Namings()
    shown = run(
        [chunk(0), chunk(1), chunk(2)], make, namings,
        lambda _stream: Segments(["We come to the.", "house of the.", "old man."]),
        # Between the first and the second segment.
        lambda done: None if done.start_s else namings.name("talk", "1", "Anna"), joins=True,
    )  # fmt: skip
    (final,) = (one for one in shown if one.is_final)
    assert (final.text, final.speaker) == ("We come to the house of the old man.", "Anna")
    assert {one.speaker for one in shown} == {"1", "Anna"}
    unfinished = run(
        [chunk(0), chunk(1, pauses=True)], make, namings, lambda _stream: Segments(is_final=False),
        lambda done: None if done.start_s else namings.name("talk", "1", "Anna"),
    )  # fmt: skip
    assert [one.speaker for one in unfinished] == ["1", "Anna"]


class Parting(Segments, PartsVoices):
    """Asks in each chunk whether another voice began."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[bool] = []

    def part(self, change: Change) -> None:
        self._change = change

    @override
    def accept(self, chunk: AudioChunk) -> Sequence[Hypothesis]:
        self.found.append(self._change(0.0, chunk.start_s + 3.0) is not None)
        return super().accept(chunk)


def test_a_recogniser_that_parts_voices_is_told_where_another_one_begins_in_the_sound_so_far() -> None:
    parting = Parting()
    run([chunk(0, LOW), chunk(1, HIGH)], recognizer=lambda _stream: parting)
    assert parting.found == [False, True]
