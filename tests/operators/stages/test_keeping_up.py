"""Keeping up with live speech, in a real dataflow on simulated time."""

from collections.abc import Iterable, Iterator, Sequence
from math import ceil
from random import Random
from typing import Any

import pytest
from bytewax import operators as op
from bytewax.dataflow import Dataflow
from bytewax.inputs import DynamicSource, StatelessSourcePartition
from bytewax.testing import TestingSink, run_main
from typing_extensions import override

from operators.decoding.translator import Output, SegmentState
from operators.events import Effort, Partial, Translation
from operators.serving.service import DirectService
from operators.stages.translate import translate

CHUNK_S = 0.05


class Simulation:
    """Simulated time, which a source, a slow translator and a clock share."""

    def __init__(self, step_s: float) -> None:
        self.now_s = 0.0
        self.step_s = step_s
        self.began_s = 0.0
        #: Seconds between arrival and the moment when the model took a partial up.
        self.waits_s: list[float] = []

    def update(self, _key: str, state: SegmentState, text: str, **_how: bool) -> Any:
        self.began_s = self.now_s
        self.now_s += self.step_s
        return state, Output((1,), (text,), Effort())

    def release(self, _key: str, _state: SegmentState) -> None:
        """Nothing is held."""

    def done(self, _stream: str, arrival_s: float, _spent_s: float) -> float:
        self.waits_s.append(self.began_s - arrival_s)
        return self.now_s

    def run(self, partials: Sequence[Partial]) -> list[Translation]:
        dataflow, out = Dataflow("test"), list[Translation]()
        stream = op.input("in", dataflow, _Arriving(self, partials))
        service = DirectService(lambda _update: self)  # type: ignore[arg-type,return-value]
        translated = translate("translate", stream, lambda: service, self, keep_up=True)
        op.output("out", translated, TestingSink(out))
        run_main(dataflow)  # type: ignore[no-untyped-call]
        return out


class _Arriving(DynamicSource[Partial]):
    """Gives what has arrived by now; where nothing has, time passes."""

    def __init__(self, simulation: Simulation, partials: Iterable[Partial]) -> None:
        self.simulation = simulation
        self.left = sorted(partials, key=lambda one: one.arrival_s)[::-1]

    @override
    def build(self, step_id: str, worker_index: int, worker_count: int) -> "_Partition":
        return _Partition(self)


class _Partition(StatelessSourcePartition[Partial]):
    def __init__(self, source: _Arriving) -> None:
        self.source = source
        self.idle = 0

    @override
    def next_batch(self) -> Iterator[Partial]:
        simulation, left = self.source.simulation, self.source.left
        due = []
        while left and left[-1].arrival_s <= simulation.now_s:
            due.append(left.pop())
        if not due:
            # Some empty turns before time moves: whatever still waits for its turn shall have it first.
            self.idle += 1
            if self.idle > 3:
                if not left:
                    raise StopIteration
                # The chunk with which the next partial comes.
                simulation.now_s += CHUNK_S * ceil((left[-1].arrival_s - simulation.now_s) / CHUNK_S)
        else:
            self.idle = 0
        return iter(due)


def speech(seconds: float, stream: str = "s", seed: int = 0) -> list[Partial]:
    """Segments of 1.5 to 12 seconds with a partial every half second, a final, and pauses between them."""
    random, partials, at_s, segment = Random(seed), list[Partial](), 0.0, 0
    while at_s < seconds:
        end_s = at_s + random.uniform(1.5, 12)
        revision, heard_s = 0, at_s + 0.5
        while True:
            is_final = heard_s >= end_s
            arrival_s = heard_s + random.uniform(0.03, 0.12)
            partials.append(
                Partial(
                    stream=stream, segment=segment, revision=revision, text=f"{segment} {revision}",
                    is_final=is_final, start_s=at_s, end_s=heard_s, arrival_s=arrival_s,
                )
            )  # fmt: skip
            if is_final:
                break
            revision, heard_s = revision + 1, heard_s + 0.5
        at_s, segment = end_s + random.uniform(0.2, 1.0), segment + 1
    return partials


@pytest.fixture(scope="module")
def partials() -> list[Partial]:
    """A quarter of an hour of speech."""
    return speech(900)


def test_however_long_speech_is_nothing_waits_longer_than_one_step_of_the_model_and_a_chunk(
    partials: list[Partial],
) -> None:
    step_s = 1.3  # ten times what an update of the base model takes on two cores
    simulation = Simulation(step_s)
    out = simulation.run(partials)
    assert max(simulation.waits_s) <= step_s + CHUNK_S
    finals = [one.key for one in out if one.is_final]
    assert finals == [one.key for one in partials if one.is_final]
    assert len(out) + sum(one.overtaken for one in out) == len(partials)
    assert len(out) < len(partials) / 2
    revisions = [(one.segment, one.revision) for one in out]
    assert revisions == sorted(revisions)


def test_a_model_that_is_fast_enough_translates_everything() -> None:
    partials = speech(100)
    out = Simulation(0.01).run(partials)
    assert [one.source for one in out] == [one.text for one in partials]
    assert not any(one.overtaken for one in out)


def test_a_model_that_takes_longer_than_a_segment_does_falls_behind_by_finals_only(
    partials: list[Partial],
) -> None:
    simulation = Simulation(5.0)
    out = simulation.run(partials)
    assert [one.key for one in out if one.is_final] == [one.key for one in partials if one.is_final]
    # Two short segments may end within one step.
    assert max(simulation.waits_s) <= 3 * 5.0


def test_several_streams_share_a_slow_model_and_lose_no_final() -> None:
    spoken = [partial for number in range(3) for partial in speech(300, f"s{number}", number)]
    simulation = Simulation(0.6)
    out = simulation.run(spoken)
    assert {one.key for one in out if one.is_final} == {one.key for one in spoken if one.is_final}
    # At most each stream's final and partial come before it.
    assert max(simulation.waits_s) <= 6 * 0.6 + CHUNK_S
