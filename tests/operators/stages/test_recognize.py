"""The recognize stage numbers segments and revisions, and every segment gets exactly one final."""

import pickle
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path

import bytewax.operators as op
import msgspec
import pytest
from bytewax.dataflow import Dataflow, Stream
from bytewax.recovery import RecoveryConfig, init_db_dir
from bytewax.testing import TestingSink, TestingSource, run_main
from hypothesis import given
from hypothesis import strategies as st

from operators.events import AudioChunk, Partial
from operators.recognizers.protocol import Hypothesis, NumberingState, PartialNumbering, Recognizer, clean
from operators.stages.recognize import Heard, Pause, listen, recognize

CHUNK_S = 0.1


def chunks(count: int, stream: str = "talk", *, is_last: bool = True, first: int = 0) -> list[AudioChunk]:
    return [
        AudioChunk(
            stream=stream,
            start_s=number * CHUNK_S,
            pcm=bytes(3200),
            is_last=is_last and number == first + count - 1,
        )
        for number in range(first, first + count)
    ]


def says(segment: int, text: str, *, is_final: bool = False, end_s: float = 0.1) -> Hypothesis:
    return Hypothesis(segment=segment, text=text, is_final=is_final, start_s=0.0, end_s=end_s)


class Scripted(Recognizer):
    """Says what its script has for each chunk, and counts how often it is told to finish."""

    def __init__(self, script: Sequence[Sequence[Hypothesis]], at_finish: Sequence[Hypothesis] = ()) -> None:
        self._script: Iterator[Sequence[Hypothesis]] = iter(script)
        self._at_finish = at_finish
        self.calls: list[str] = []

    def accept(self, chunk: AudioChunk) -> Sequence[Hypothesis]:  # noqa: ARG002 - a Recognizer
        return next(self._script, ())

    def finish(self) -> Sequence[Hypothesis]:
        self.calls.append("finish")
        return self._at_finish

    def close(self) -> None:
        self.calls.append("close")


def run(
    source: Sequence[object], *recognizers: Scripted, now: float | None = None, recovery: Path | None = None
) -> list[Partial]:
    """The partials that a dataflow gets, each stream with the next of the recognisers."""
    partials: list[Partial] = []
    made = iter(recognizers)
    flow = Dataflow("recognize")
    up: Stream[AudioChunk] = op.input("in", flow, TestingSource(source))  # type: ignore[arg-type] # and its signals
    clock = None if now is None else lambda _stream: now
    op.output("out", recognize("asr", up, lambda _stream: next(made), clock), TestingSink(partials))
    config = RecoveryConfig(str(recovery)) if recovery else None  # type: ignore[no-untyped-call] # Bytewax's
    # A snapshot after each item.
    run_main(flow, recovery_config=config, epoch_interval=timedelta(0))  # type: ignore[no-untyped-call] # same
    return partials


def brief(partials: list[Partial]) -> list[tuple[int, int, str, bool]]:
    return [(partial.segment, partial.revision, partial.text, partial.is_final) for partial in partials]


def test_revisions_count_from_zero_in_each_segment() -> None:
    script = [
        [says(0, "It")],
        [says(0, "It was")],
        [says(0, "It was.", is_final=True), says(1, "The")],
        [says(1, "The end.", is_final=True)],
    ]

    assert brief(run(chunks(4), Scripted(script))) == [
        (0, 0, "It", False),
        (0, 1, "It was", False),
        (0, 2, "It was.", True),
        (1, 0, "The", False),
        (1, 1, "The end.", True),
    ]


@pytest.mark.parametrize("is_last", [True, False])
def test_the_end_of_a_stream_finishes_its_recogniser_once_and_its_segments_all(*, is_last: bool) -> None:
    recognizer = Scripted([[says(0, "Hello")]], at_finish=[says(0, "Hello there")])

    assert brief(run(chunks(2, is_last=is_last), recognizer)) == [
        (0, 0, "Hello", False),
        (0, 1, "Hello there", False),
        (0, 2, "Hello there", True),
    ]
    assert recognizer.calls == ["finish", "close"]


def test_a_stream_that_begins_again_after_its_last_chunk_is_another_one() -> None:
    first, second = Scripted([[says(0, "one", is_final=True)]]), Scripted([[says(0, "two", is_final=True)]])

    assert brief(run(chunks(1) + chunks(1), first, second)) == [(0, 0, "one", True), (0, 0, "two", True)]
    assert first.calls == second.calls == ["finish", "close"]


def test_a_pause_finishes_the_segment_and_a_fresh_recogniser_goes_on_with_its_numbers() -> None:
    pause = AudioChunk(stream="talk", start_s=0.1, pcm=b"", pauses=True)
    first = Scripted([[says(0, "one")]], at_finish=[says(0, "one.", is_final=True)])
    second = Scripted([[says(0, "two", is_final=True)]])

    assert brief(run([*chunks(1, is_last=False), pause, pause, *chunks(1, first=1)], first, second)) == [
        (0, 0, "one", False),
        (0, 1, "one.", True),
        (1, 0, "two", True),
    ]
    assert first.calls == second.calls == ["finish", "close"]


def test_a_pause_follows_the_finals_of_what_was_said_before_it() -> None:
    said, last = chunks(2)
    flow, heard, processed = Dataflow("listen"), list[Heard](), list[float]()
    up: Stream[AudioChunk] = op.input("in", flow, TestingSource([said, last]))
    recognizer = Scripted([[says(0, "one")], []], at_finish=[says(0, "one.", is_final=True)])
    both = listen(
        "asr", up, lambda _stream: recognizer, lambda _stream: 3.0,
        lambda chunk: processed.append(chunk.start_s),
    )  # fmt: skip
    op.output("out", both, TestingSink(heard))
    run_main(flow)  # type: ignore[no-untyped-call] # Bytewax's
    assert [one.text if isinstance(one, Partial) else one for one in heard] == [
        "one",
        "one.",
        Pause(last.stream, 3.0, is_last=True),
    ]
    assert processed == [said.start_s, last.start_s]


def test_a_partial_arrives_when_its_audio_ends_plus_the_time_that_it_took() -> None:
    [partial] = run(chunks(3), Scripted([[], [], [says(0, "Hi", is_final=True)]]))

    assert 0.3 <= partial.arrival_s < 0.35


def test_in_real_time_a_partial_arrives_when_the_clock_says() -> None:
    [partial] = run(chunks(1), Scripted([[says(0, "Hi", is_final=True)]]), now=7.25)

    assert partial.arrival_s == 7.25


def test_a_hypothesis_never_covers_audio_that_was_not_heard() -> None:
    [partial] = run(chunks(2), Scripted([[], [says(0, "Hi", is_final=True, end_s=9.0)]]))

    assert partial.end_s == pytest.approx(0.2)


def test_a_segment_begins_with_its_first_text_and_numbers_have_no_gaps() -> None:
    script = [[says(0, "")], [says(0, " ", is_final=True), says(4, "Hi", is_final=True)]]

    assert brief(run(chunks(2), Scripted(script))) == [(0, 0, "Hi", True)]


def test_a_final_that_lost_its_text_keeps_what_the_viewer_has_read() -> None:
    script = [[says(0, "Oh")], [says(0, "", is_final=True)]]

    assert brief(run(chunks(2), Scripted(script))) == [(0, 0, "Oh", False), (0, 1, "Oh", True)]


def test_a_doubtful_final_takes_back_what_the_viewer_has_read() -> None:
    doubtful = Hypothesis(segment=0, text="", is_final=True, is_doubtful=True, start_s=0.0, end_s=0.2)
    heard = run(chunks(3), Scripted([[says(0, "Their")], [doubtful], [says(1, "Go", is_final=True)]]))
    assert [(one.segment, one.text, one.is_final) for one in heard] == [
        (0, "Their", False), (0, "", True), (1, "Go", True)
    ]  # fmt: skip


def test_what_a_recogniser_says_of_a_segment_after_its_final_is_named(
    caplog: pytest.LogCaptureFixture,
) -> None:
    numbering = PartialNumbering(NumberingState("talk", heard_s=9.0))
    said = [says(3, "One", is_final=True), says(4, "Two"), says(3, "One more"), says(3, "One", is_final=True)]
    partials = numbering.number([*said, says(2, "Nought"), says(2, ""), says(4, "Two", is_final=True)], 9.0)
    assert brief(partials) == [(0, 0, "One", True), (1, 0, "Two", False), (1, 1, "Two", True)]
    assert [record.event for record in caplog.records] == ["hypothesis_dropped"] * 3  # type: ignore[attr-defined]  # of `extra`
    assert "segment of talk after its end; its text from 0.0 s on" in caplog.text
    assert "One" not in caplog.text


def test_text_is_made_writable() -> None:
    assert clean(" a\ud800b\x00c \n\t d é 語 ") == "abc d é 語"


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("In short,, the period was so far", "In short, the period was so far"),
        ("In short,. Yes,? No;, no..", "In short. Yes? No, no."),
        ("Really?? No!! 是，，的。。", "Really? No! 是，的。"),
        ("Well... what?! It is 1,000.5, or,.5: a::b", "Well... what?! It is 1,000.5, or,.5: a::b"),
    ],
)
def test_punctuation_that_a_model_doubled_is_written_once(said: str, read: str) -> None:
    assert clean(said) == read


def test_after_a_crash_open_segments_are_finished_and_numbers_go_on(tmp_path: Path) -> None:
    init_db_dir(tmp_path, 1)  # type: ignore[no-untyped-call] # Bytewax's
    source = [*chunks(2, is_last=False), TestingSource.ABORT(), *chunks(2, first=2)]
    before = run(source, Scripted([[says(0, "One.", is_final=True)], [says(1, "Two")]]), recovery=tmp_path)
    after = run(source, Scripted([[says(0, "Three")], [says(0, "Three.", is_final=True)]]), recovery=tmp_path)

    assert brief(before) == [(0, 0, "One.", True), (1, 0, "Two", False)]
    assert brief(after) == [(1, 1, "Two", True), (2, 0, "Three", False), (2, 1, "Three.", True)]


def test_after_a_stop_nothing_is_open_and_numbers_go_on(tmp_path: Path) -> None:
    init_db_dir(tmp_path, 1)  # type: ignore[no-untyped-call] # Bytewax's
    source = [*chunks(2, is_last=False), TestingSource.EOF(), *chunks(2, first=2)]
    before = run(source, Scripted([[says(0, "One")]], [says(0, "One.", is_final=True)]), recovery=tmp_path)
    after = run(source, Scripted([[says(0, "Two.", is_final=True)]]), recovery=tmp_path)

    assert brief(before) == [(0, 0, "One", False), (0, 1, "One.", True)]
    assert brief(after) == [(1, 0, "Two.", True)]


def test_finals_of_segments_that_nobody_finishes_have_the_name_that_was_given_meanwhile() -> None:
    first = PartialNumbering(NumberingState("talk", heard_s=9.0))
    first.number([msgspec.structs.replace(says(0, "One"), speaker="2"), says(1, "Two")], 9.0)
    first.rename("2", "Ben")
    second = PartialNumbering(first.state)
    second.rename("Ben", "Bea")
    assert [one.speaker for one in (*first.finish(9.0), *second.finish_resumed(9.0))] == [
        "Ben", msgspec.UNSET, "Bea", msgspec.UNSET,
    ]  # fmt: skip


hypotheses = st.lists(
    st.builds(
        Hypothesis,
        segment=st.integers(0, 4),
        text=st.sampled_from(["", "a", "b", "a b"]),
        is_final=st.booleans(),
        start_s=st.floats(0, 5),
        end_s=st.floats(0, 9),
    ),
    max_size=30,
)


@given(hypotheses, st.integers(0, 30))
def test_whatever_is_said_and_wherever_it_is_cut_numbers_are_whole_and_finals_unique(
    said: list[Hypothesis], cut: int
) -> None:
    first = PartialNumbering(NumberingState("talk", heard_s=9.0))
    partials = first.number(said[:cut], 9.0)
    second = PartialNumbering(pickle.loads(pickle.dumps(first.state)))
    partials += second.finish_resumed(9.0) + second.number(said[cut:], 9.0) + second.finish(9.0)

    by_segment: dict[int, list[Partial]] = {}
    for partial in partials:
        by_segment.setdefault(partial.segment, []).append(partial)
    assert list(by_segment) == list(range(len(by_segment)))
    for updates in by_segment.values():
        assert [update.revision for update in updates] == list(range(len(updates)))
        assert [update.is_final for update in updates] == [False] * (len(updates) - 1) + [True]
        assert all(update.text and update.end_s >= update.start_s for update in updates)
    assert second.state.unfinished == ()
