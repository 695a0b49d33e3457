"""A recorded room in many, on a model and on a simulated machine: on a clock that passes or a table move."""

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.decoding.forward import Logits
from operators.decoding.pass_cost import PassCosts
from operators.decoding.translator import SegmentState
from operators.events import Effort
from operators.models.store import Part
from operators.serving.rooms import Done, Update
from operators.serving.scheduler import Scheduler
from operators.serving.segments import Translated
from operators.serving.simulation import (
    Heard,
    Lived,
    Machine,
    Recorded,
    Recording,
    SimulatedClock,
    live,
    simulate,
)
from tests.operators.serving.toy_rooms import scheduler, toy_rooms
from tests.toy import ToyStore

#: Two updates a second; three partials and then a final.
WORDS = ["a", "a b", "a b c", "a b c d"]
TALK = [Heard(number // 4, WORDS[number % 4], number % 4 == 3, number / 2) for number in range(40)]


class Timed(ToyStore):
    """Takes its time for each pass, whatever is in it."""

    def __init__(self, sequences: int, clock: SimulatedClock, pass_s: float) -> None:
        self.is_ready = False
        super().__init__(sequences)
        self.clock, self.pass_s = clock, pass_s

    def evaluate(self, sequence: int, tokens: Sequence[int], start: int, rows: int) -> Logits:
        self.clock.now_s += self.pass_s
        return super().evaluate(sequence, tokens, start, rows)

    def evaluate_parts(self, parts: Sequence[Part]) -> list[Logits]:
        self.clock.now_s += self.pass_s
        return [self.caches[sequence].evaluate(*evaluation) for sequence, evaluation in parts]


def run(rooms: int, pass_s: float, most: int | None = None) -> Lived:
    clock = SimulatedClock()
    served = scheduler(8, 64, Timed(9, clock, pass_s), most)
    clock.now_s = 0.0  # the head was evaluated before

    def tokens(done: Done[SegmentState, Translated]) -> int:
        return len(done.made.output.tokens)

    return live(toy_rooms(served), Recording(TALK).arrivals(rooms, 10.0), clock, tokens)


def test_a_model_that_is_fast_enough_drops_nothing() -> None:
    lived = run(3, 0.001)
    assert lived.dropped == 0
    assert lived.updates == len(list(Recording(TALK).arrivals(3, 10.0)))
    assert lived.latencies_s.at(1.0)[0] < 0.2


def test_a_model_that_is_too_slow_drops_partials_and_no_finals() -> None:
    said = list(Recording(TALK).arrivals(8, 10.0))
    lived = run(8, 0.2, most=1)
    assert lived.dropped > 0
    assert lived.updates + lived.dropped == len(said)
    assert lived.finals == sum(update.is_final for update in said)


def test_an_update_that_was_dropped_was_seen_when_a_newer_one_was_translated() -> None:
    lived = run(8, 0.2, most=1)
    assert lived.delays_s is not None
    assert lived.delays_s.count == lived.updates + lived.dropped
    assert lived.delays_s.total > lived.latencies_s.total


def test_passes_that_rooms_share_keep_up_where_one_after_the_other_does_not() -> None:
    together, alone = run(8, 0.05), run(8, 0.05, most=1)
    assert together.dropped < alone.dropped
    assert together.seconds <= alone.seconds


@st.composite
def recordings(draw: st.DrawFn) -> list[Heard]:
    heard, at_s = list[Heard](), draw(st.floats(0, 100))
    for segment, count in enumerate(draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))):
        for place in range(count):
            heard.append(Heard(segment, f"{segment} {place}", place == count - 1, at_s))
            at_s += draw(st.floats(0.1, 2.0))
    return heard


def of_each(updates: list[Update]) -> list[list[Update]]:
    return [[one for one in updates if one.room == room] for room in {one.room for one in updates}]


@given(recordings(), st.integers(1, 5), st.floats(0.5, 20.0))
def test_rooms_say_whole_segments_in_their_order_and_at_their_pace(
    heard: list[Heard], rooms: int, seconds: float
) -> None:
    recording = Recording(heard)
    updates = list(recording.arrivals(rooms, seconds))
    assert [one.arrival_s for one in updates] == sorted(one.arrival_s for one in updates)
    assert all(0.0 <= one.arrival_s < seconds for one in updates)
    for said in of_each(updates):
        # A room begins with a segment's first hypothesis, and leaves none out from there on.
        assert said[0].number == 0 or heard[said[0].number - 1].segment != heard[said[0].number].segment
        for one, following in pairwise(said):
            assert following.number == (one.number + 1) % len(heard)
            assert (following.segment == one.segment) == (not one.is_final)
            apart_s = heard[following.number].arrival_s - heard[one.number].arrival_s
            apart_s += 0 if following.number else recording.length_s
            assert abs(following.arrival_s - one.arrival_s - apart_s) < 1e-6


def test_rooms_are_spread_over_the_recording() -> None:
    heard = [Heard(number, "a", True, float(number)) for number in range(100)]
    first = [said[0].number for said in of_each(list(Recording(heard).arrivals(20, 5.0)))]
    assert len(set(first)) == 20
    # No fifth of it is without a room.
    assert {number * 5 // 100 for number in first} == set(range(5))


def test_a_room_begins_again_when_all_was_said() -> None:
    heard = [Heard(0, "a", False, 3.0), Heard(0, "a b", True, 4.0)]
    said = list(Recording(heard).arrivals(1, 4.0))
    assert [(one.segment, one.text) for one in said] == [(0, "a"), (0, "a b"), (1, "a"), (1, "a b"), (2, "a")]


#: A pass costs the same up to 64 tokens, and then as much again for each 64.
WIDE = PassCosts((1, 64, 128), (10.0, 10.0, 20.0))
#: Each takes a first pass over eight tokens and four more.
TOOK = [Recorded(8, 100 if number % 4 else 60, (1, 1, 1, 1), 10) for number in range(len(TALK))]


def simulated(
    rooms: int, *, costs: PassCosts = WIDE, most: int | None = None, sessions: int = 255
) -> tuple[Lived, Scheduler]:
    return simulate(Machine(costs, sessions), Recording(TALK), TOOK, rooms, 10.0, most=most)


def test_one_room_waits_for_its_own_passes_alone() -> None:
    lived, scheduler = simulated(1)
    assert lived.latencies_s.at(0.0, 0.5, 1.0) == pytest.approx([0.05] * 3)
    assert (lived.updates, lived.dropped, lived.tokens) == (20, 0, 200)
    assert scheduler.load == (100, 100, 20 * 12)


def test_rooms_that_share_passes_do_more_than_one_after_the_other() -> None:
    together, _ = simulated(100)
    alone, _ = simulated(100, most=1)
    assert together.tokens > 2 * alone.tokens
    assert together.latencies_s.at(0.95)[0] < alone.latencies_s.at(0.95)[0]
    assert alone.dropped > together.dropped
    # What is shed are partials that were overtaken.
    assert together.finals == alone.finals


def test_every_final_is_translated_however_many_rooms_there_are() -> None:
    for rooms in (1, 10, 400):
        said = list(Recording(TALK).arrivals(rooms, 10.0))
        lived, _ = simulated(rooms)
        assert lived.finals == sum(update.is_final for update in said)
        assert lived.updates + lived.dropped == len(said)


def test_a_machine_without_memory_for_all_rooms_evaluates_more() -> None:
    _, enough = simulated(30, sessions=30)
    _, scarce = simulated(30, sessions=3)
    assert scarce.load.tokens > enough.load.tokens


def test_the_same_rooms_give_the_same_figures() -> None:
    first, second = simulated(50)[0], simulated(50)[0]
    assert first[:5] == second[:5]


@given(st.integers(0, 30), st.integers(0, 60), st.integers(0, 20), st.integers(0, 30))
def test_an_effort_is_as_many_passes_and_tokens_as_were_recorded(
    passes: int, more: int, proposed: int, output: int
) -> None:
    effort = Effort(passes=passes, evaluated=passes + more, proposed=proposed, prompt_reused=7)
    recorded = Recorded.of(effort, output)
    if passes == 0:
        assert recorded.first == 0
        assert recorded.others == ()
    else:
        assert 1 + len(recorded.others) == passes
        assert recorded.first + sum(recorded.others) == passes + more


def test_an_update_decodes_what_those_that_it_has_overtaken_would_have() -> None:
    own, before = Recorded(8, 100, (1, 1), 5), Recorded(8, 90, (1, 1, 1, 1), 4)
    assert own.after([]) == own
    assert own.after([before]).others == (1,) * 5
    assert own.after([before, before]).others == (1,) * 5


def test_hundreds_of_rooms_fill_passes_and_shed_partials() -> None:
    lived, scheduler = simulated(800, costs=PassCosts((1, 512), (5.0, 40.0)))
    assert lived.dropped > 0
    assert scheduler.load.tokens / scheduler.load.passes > 100
