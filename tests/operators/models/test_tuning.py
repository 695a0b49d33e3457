"""Choosing threads and micro-batch by time: steady machines, noisy ones, and real passes."""

from collections.abc import Iterator
from itertools import cycle, repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.models.llama_model import LlamaModel
from operators.models.tuning import LlamaProbe, Tuning, choose, thread_counts, tune


class Machine:
    """A machine that takes ``seconds`` for a candidate, times what it is disturbed by."""

    def __init__(self, seconds: dict[int, float], disturbed: Iterator[float]) -> None:
        self.now = 0.0
        self.turns: dict[int, int] = {}
        self._seconds = seconds
        self._disturbed = disturbed

    def run(self, candidate: int) -> float:
        took = self._seconds[candidate] * next(self._disturbed)
        self.now += took
        self.turns[candidate] = self.turns.get(candidate, 0) + 1
        return took

    def choose(self, budget_s: float = 2.2) -> tuple[int, bool]:
        return choose(list(self._seconds), self.run, budget_s=budget_s, clock=self.clock)

    def clock(self) -> float:
        return self.now

    def seconds(self, threads: int, ubatch: int) -> float:
        return self.run(threads) * (0.5 if ubatch == 64 else 1.0)


QUIET = {1: 0.10, 2: 0.06, 4: 0.035, 8: 0.034}


@pytest.mark.parametrize(("cores", "counts"), [(1, [1]), (2, [1, 2]), (6, [1, 2, 4, 6]), (8, [1, 2, 4, 8])])
def test_thread_counts_are_powers_of_two_and_all_cores(cores: int, counts: list[int]) -> None:
    assert thread_counts(cores) == counts


def test_more_threads_are_taken_only_where_they_are_clearly_faster() -> None:
    assert Machine(QUIET, repeat(1.0)).choose() == (4, True)


def test_a_disturbance_now_and_then_changes_nothing() -> None:
    assert Machine(QUIET, cycle([1.0, 1.02, 1.1, 1.0, 1.05, 1.2, 1.0])).choose() == (4, True)


@given(st.lists(st.floats(1.0, 3.0), min_size=7, max_size=7))
def test_noise_never_makes_a_machine_look_steady_and_slow_candidates_good(noise: list[float]) -> None:
    choice, is_steady = Machine(QUIET, cycle(noise)).choose()
    assert not is_steady or QUIET[choice] <= QUIET[8] * 3


def test_a_machine_that_is_busy_all_the_time_gets_all_cores_and_is_asked_again_later() -> None:
    machine = Machine(QUIET, cycle([1.0, 2.0, 3.0, 2.5, 1.7, 2.9, 2.2]))
    assert tune(machine.seconds, 8, clock=machine.clock) == Tuning(8, 512, is_steady=False)


def test_other_programs_that_take_their_share_evenly_are_noticed_too() -> None:
    machine = Machine({1: 0.10, 2: 0.15}, repeat(1.0))
    assert tune(machine.seconds, 2, lambda: 1.5 * machine.now, machine.clock) == Tuning(2, is_steady=False)
    assert tune(machine.seconds, 2, lambda: 0.1 * machine.now, machine.clock) == Tuning(1, 64)


def test_a_candidate_without_hope_gets_one_turn_after_its_warm_up() -> None:
    machine = Machine({1: 0.1, 2: 0.01}, repeat(1.0))
    machine.choose()
    assert machine.turns == {1: 2, 2: 6}


def test_a_slow_model_is_not_measured_for_long() -> None:
    machine = Machine({4: 2.0, 8: 1.9}, repeat(1.0))
    assert machine.choose(budget_s=2.0) == (8, True) or machine.turns == {4: 3, 8: 3}


def test_the_micro_batch_is_measured_with_the_threads_that_were_chosen() -> None:
    machine = Machine(QUIET, repeat(1.0))
    assert tune(machine.seconds, 8, clock=machine.clock) == Tuning(4, 64)


@pytest.mark.long
@pytest.mark.real_model
def test_passes_of_the_default_model_are_measured(model: LlamaModel) -> None:
    with LlamaProbe(model) as probe:
        assert choose([1, 2], lambda threads: probe.seconds(threads, 64), budget_s=0.1).choice in (1, 2)
