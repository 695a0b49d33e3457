"""The sentences stage: keyed by stream, with pauses of the sound, and times at which a sentence must end."""

from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from time import monotonic, sleep

import bytewax.operators as op
from bytewax.dataflow import Dataflow, Stream
from bytewax.testing import TestingSink, TestingSource, run_main
from msgspec.structs import replace

from operators.events import Partial
from operators.sentences.joining import Sentences, SentencesState
from operators.stages.recognize import Pause
from operators.stages.sentences import MakeSentences, join_sentences

Input = Partial | Pause


def make(state: SentencesState) -> Sentences:
    return Sentences(state)


def final(segment: int, text: str, start_s: float, stream: str = "talk") -> Partial:
    return Partial(
        stream=stream, segment=segment, revision=0, is_final=True, text=text, start_s=start_s,
        end_s=start_s + 1.0, arrival_s=start_s + 1.2,
    )  # fmt: skip


def run(
    heard: Iterable[Input],
    out: list[Partial] | None = None,
    how: MakeSentences | None = make,
    now: Callable[[str], float] | None = None,
    ended: Callable[[str, int], None] = lambda _stream, _count: None,
) -> list[Partial]:
    flow = Dataflow("sentences")
    out = [] if out is None else out
    up: Stream[Input] = op.input("in", flow, TestingSource(heard))
    joined = join_sentences("sentences", up, how, now, ended)
    partials = op.filter_map("partials", joined, lambda one: one if isinstance(one, Partial) else None)
    op.output("out", partials, TestingSink(out))
    run_main(flow, epoch_interval=timedelta(0))  # type: ignore[no-untyped-call] # Bytewax's
    return out


ONE, OTHER = final(0, "We come to the.", 0.0), final(1, "House.", 1.3)


def test_segments_that_belong_together_have_one_final_at_the_end_of_the_input() -> None:
    joined = run([ONE, OTHER])
    assert [one.text for one in joined if one.is_final] == ["We come to the House."]
    assert all(one.is_sentence for one in joined)


def test_each_stream_has_its_own_sentences() -> None:
    there = replace(OTHER, stream="elsewhere")
    texts = {(one.stream, one.text) for one in run([ONE, there]) if one.is_final}
    assert texts == {("talk", "We come to the."), ("elsewhere", "House.")}


def test_sentences_pass_unchanged_and_each_segment_is_one_if_segments_are_not_joined() -> None:
    marked = [replace(ONE, is_sentence=True), replace(OTHER, is_sentence=True)]
    assert run(marked) == marked
    assert run([ONE, OTHER], how=None) == marked


def test_a_pause_of_the_sound_ends_a_sentence() -> None:
    pause = Pause("talk", 1.25, is_last=False)
    assert [one.text for one in run([ONE, pause, OTHER]) if one.is_final] == ["We come to the.", "House."]


def test_the_number_of_sentences_is_told_when_a_stream_is_over() -> None:
    told: list[tuple[str, int]] = []
    last = Pause("talk", 3.0, is_last=True)
    run([ONE, OTHER, last, ONE, last], ended=lambda stream, count: told.append((stream, count)))
    assert told == [("talk", 1), ("talk", 1)], "a stream that comes again under the name is another one"
    told.clear()
    run([ONE, OTHER, last], how=None, ended=lambda stream, count: told.append((stream, count)))
    assert told == [("talk", 2)]


def test_live_a_sentence_ends_when_the_pause_is_long_enough_although_nothing_follows() -> None:
    out: list[Partial] = []

    def until_it_ends() -> Iterator[Input]:
        yield ONE
        for _ in range(3000):
            if any(one.is_final for one in out):
                return
            sleep(0.01)
            yield Pause("elsewhere", 0.0, is_last=False)

    began = monotonic()
    run(until_it_ends(), out, now=lambda _stream: 2.3 + monotonic() - began)
    [done] = [one for one in out if one.is_final]
    assert (done.text, done.arrival_s >= 2.5) == ("We come to the.", True), "not the end of the input"
