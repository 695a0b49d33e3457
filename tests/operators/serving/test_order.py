"""Which of the waiting requests share the next pass."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from operators.decoding.pass_cost import FLAT, PassCosts
from operators.serving.line import PATIENCE
from operators.serving.order import PassTimes, select

#: As on two cores: two single tokens cost more together than one after the other, sixteen far less.
CORES = PassTimes(PassCosts((1, 2, 4, 8, 16, 32), (7.5, 17.0, 25.0, 38.0, 55.0, 100.0)), 14)


@dataclass
class Waits:
    size: int
    place: int
    is_final: bool = False
    passed_over: int = 0


waits = st.builds(Waits, st.integers(1, 40), st.integers(0, 99), st.booleans(), st.integers(0, PATIENCE))
crowds = st.lists(waits, min_size=1, max_size=12, unique_by=lambda one: one.place)
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
    crowd: list[Waits], times: PassTimes, most: int
) -> None:
    first, *others = select(crowd, times, most)
    urgent = [one for one in crowd if one.is_final or one.passed_over >= PATIENCE]
    assert first == min(urgent or crowd, key=lambda one: one.place)
    assert len(others) < most
    if others:
        together = times.of(first.size + sum(one.size for one in others))
        assert together < times.of(first.size) + sum(times.of(one.size) for one in others)


def test_a_few_single_tokens_go_one_after_the_other_and_many_go_together() -> None:
    few = [Waits(1, place) for place in range(3)]
    assert select(few, CORES, 99) == few[:1]
    many = [Waits(1, place) for place in range(16)]
    assert select(many, CORES, 99) == many


def test_short_requests_join_a_long_draft_and_another_long_draft_does_not() -> None:
    crowd = [Waits(16, 0), Waits(16, 1), Waits(1, 2), Waits(1, 3)]
    assert select(crowd, CORES, 99) == [crowd[0], crowd[2], crowd[3]]


def test_a_final_is_not_held_up_by_long_drafts_that_began_before_it() -> None:
    crowd = [Waits(16, 0), Waits(12, 1), Waits(1, 2, is_final=True)]
    assert select(crowd, CORES, 99)[0] == crowd[2]


def test_where_a_pass_costs_the_same_for_any_number_all_that_fit_are_in_it() -> None:
    crowd = [Waits(8, place) for place in range(12)]
    assert select(crowd, PassTimes(FLAT, 64), 99) == crowd[:8]
