"""Which of the waiting requests share the next pass: who is next in a line, and when a pass is full."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.decoding.pass_cost import FLAT, PassCosts
from operators.serving.scheduler import PATIENCE, FairQueue, Job, PassTimes, fill_of, select
from tests.operators.serving.toy_rooms import ask

#: As on two cores: two single tokens cost more together than one after the other, sixteen far less.
CORES = PassTimes(PassCosts((1, 2, 4, 8, 16, 32), (7.5, 17.0, 25.0, 38.0, 55.0, 100.0)), 14)


def waits(size: int, place: int, is_final: bool = False, passed_over: int = 0) -> Job:
    """A job whose request waits for a pass."""
    asked = ask([place], is_final=is_final)
    job = Job(asked, has_draft_model=False, may_search=lambda: True)
    job.size, job.place, job.passed_over = size, place, passed_over
    return job


crowded = st.builds(waits, st.integers(1, 40), st.integers(0, 99), st.booleans(), st.integers(0, PATIENCE))
crowds = st.lists(crowded, min_size=1, max_size=12, unique_by=lambda one: one.place)
times = st.lists(st.floats(0.1, 9.0), min_size=1, max_size=6).map(
    lambda steps: PassTimes(
        PassCosts(
            tuple(2**number for number in range(len(steps))),
            tuple(sum(steps[: number + 1]) for number in range(len(steps))),
        ),
        1,
    )
)


@given(crowds, times, st.integers(1, 12))
def test_a_pass_serves_the_first_and_whom_it_saves_time(
    crowd: list[Job], times: PassTimes, most: int
) -> None:
    first, *others = select(crowd, times, most)
    urgent = [one for one in crowd if one.is_final or one.passed_over >= PATIENCE]
    assert first == min(urgent or crowd, key=lambda one: one.place)
    assert len(others) < most
    if others:
        together = times.of(first.size + sum(one.size for one in others))
        assert together < times.of(first.size) + sum(times.of(one.size) for one in others)


def test_a_few_single_tokens_go_one_after_the_other_and_many_go_together() -> None:
    few = [waits(1, place) for place in range(3)]
    assert select(few, CORES, 99) == few[:1]
    many = [waits(1, place) for place in range(16)]
    assert select(many, CORES, 99) == many


def test_short_requests_join_a_long_draft_and_another_long_draft_does_not() -> None:
    crowd = [waits(16, 0), waits(16, 1), waits(1, 2), waits(1, 3)]
    assert select(crowd, CORES, 99) == [crowd[0], crowd[2], crowd[3]]


def test_a_final_is_not_held_up_by_long_drafts_that_began_before_it() -> None:
    crowd = [waits(16, 0), waits(12, 1), waits(1, 2, is_final=True)]
    assert select(crowd, CORES, 99)[0] == crowd[2]


def test_where_a_pass_costs_the_same_for_any_number_all_that_fit_are_in_it() -> None:
    crowd = [waits(8, place) for place in range(12)]
    assert select(crowd, PassTimes(FLAT, 64), 99) == crowd[:8]


moves = st.lists(st.tuples(st.integers(0, 5), st.booleans()) | st.none(), max_size=60)


@given(moves)
def test_everybody_leaves_once_for_each_time_that_they_joined(steps: list[tuple[int, bool] | None]) -> None:
    line, waiting = FairQueue[int](), set[int]()
    for step in steps:
        if step is not None:
            line.join(step[0], is_final=step[1])
            waiting.add(step[0])
        elif waiting:
            waiting.remove(line.next())
        assert len(line) == len(waiting)
        assert all(item in line for item in waiting)
    assert {line.next() for _ in range(len(line))} == waiting
    with pytest.raises(IndexError):
        line.next()


def test_finals_come_first_and_then_who_has_waited_longest() -> None:
    line = FairQueue[str]()
    for item, is_final in (("a", False), ("b", True), ("c", False), ("d", True)):
        line.join(item, is_final=is_final)
    assert [line.next() for _ in range(4)] == ["b", "d", "a", "c"]


def test_whoever_waits_moves_up_with_a_final_and_never_back() -> None:
    line = FairQueue[str]()
    for item, is_final in (("a", False), ("b", False), ("b", True), ("b", False), ("a", False)):
        line.join(item, is_final=is_final)
    assert [line.next() for _ in range(2)] == ["b", "a"]


@given(st.integers(1, 5))
def test_finals_without_end_let_others_by(others: int) -> None:
    line = FairQueue[int]()
    for number in range(others):
        line.join(number, is_final=False)
    left = []
    for number in range(100, 100 + (PATIENCE + 1) * others):
        line.join(number, is_final=True)
        left.append(line.next())
    assert [item for item in left if item < 100] == list(range(others))


@pytest.mark.parametrize(
    ("costs", "fill"),
    [
        # Each token costs the same: there is nothing to wait for.
        (PassCosts((1, 2, 64), (10.0, 20.0, 640.0)), 1),
        # From 16 tokens on it costs the same again.
        (PassCosts((1, 16, 64), (10.0, 16.0, 64.0)), 14),
        # A pass costs the same whatever is in it, as on a GPU: as much as there is.
        (PassCosts((1, 512), (1.0, 1.0)), 466),
    ],
)
def test_a_pass_is_filled_up_to_where_a_token_stops_getting_cheaper(costs: PassCosts, fill: int) -> None:
    assert fill_of(costs) == fill


@given(st.lists(st.floats(0.1, 1000.0), min_size=1, max_size=8))
def test_no_pass_has_tokens_that_are_much_cheaper(ms: list[float]) -> None:
    costs = PassCosts(tuple(2**n for n in range(len(ms))), tuple(sorted(ms)))
    fill = fill_of(costs)
    assert 1 <= fill <= costs.tokens[-1]
    best = min(costs.of(tokens) / tokens for tokens in range(1, costs.tokens[-1] + 1))
    assert costs.of(fill) / fill <= 1.1 * best * (1 + 1e-9)
