"""Rooms on a simulated machine: the scheduler's own decisions, on a clock that goes by a table."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.decoding.pass_cost import PassCosts
from operators.events import Effort
from operators.serving.scheduler import Scheduler
from operators.serving.simulation import Heard, Lived, Machine, Recorded, Recording, simulate

#: A pass costs the same up to 64 tokens, and then as much again for each 64.
WIDE = PassCosts((1, 64, 128), (10.0, 10.0, 20.0))
#: Two updates a second; three partials and then a final.
TALK = [Heard(number // 4, "a", number % 4 == 3, number / 2) for number in range(40)]
#: Each takes a first pass over eight tokens and four more.
TOOK = [Recorded(8, 100 if number % 4 else 60, (1, 1, 1, 1), 10) for number in range(len(TALK))]


def run(
    rooms: int, *, costs: PassCosts = WIDE, most: int | None = None, sessions: int = 255
) -> tuple[Lived, Scheduler]:
    return simulate(Machine(costs, sessions), Recording(TALK), TOOK, rooms, 10.0, most=most)


def test_one_room_waits_for_its_own_passes_alone() -> None:
    lived, scheduler = run(1)
    assert lived.latencies_s.at(0.0, 0.5, 1.0) == pytest.approx([0.05] * 3)
    assert (lived.updates, lived.dropped, lived.tokens) == (20, 0, 200)
    assert scheduler.load == (100, 100, 20 * 12)


def test_rooms_that_share_passes_do_more_than_one_after_the_other() -> None:
    together, _ = run(100)
    alone, _ = run(100, most=1)
    assert together.tokens > 2 * alone.tokens
    assert together.latencies_s.at(0.95)[0] < alone.latencies_s.at(0.95)[0]
    assert alone.dropped > together.dropped
    # What is shed are partials that were overtaken.
    assert together.finals == alone.finals


def test_every_final_is_translated_however_many_rooms_there_are() -> None:
    for rooms in (1, 10, 400):
        said = list(Recording(TALK).arrivals(rooms, 10.0))
        lived, _ = run(rooms)
        assert lived.finals == sum(update.is_final for update in said)
        assert lived.updates + lived.dropped == len(said)


def test_a_machine_without_memory_for_all_rooms_evaluates_more() -> None:
    _, enough = run(30, sessions=30)
    _, scarce = run(30, sessions=3)
    assert scarce.load.tokens > enough.load.tokens


def test_the_same_rooms_give_the_same_figures() -> None:
    first, second = run(50)[0], run(50)[0]
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
    lived, scheduler = run(800, costs=PassCosts((1, 512), (5.0, 40.0)))
    assert lived.dropped > 0
    assert scheduler.load.tokens / scheduler.load.passes > 100
