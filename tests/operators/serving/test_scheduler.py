"""Methods that share passes on one model: who is in the next pass, and what a failure costs."""

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.decoding.drive import DecodeRequest
from operators.decoding.forward import Forward, Logits
from operators.decoding.pass_cost import FLAT, PassCosts
from operators.model_errors import ErrorKind, ModelError
from operators.models.kv import Part
from operators.models.pool import SessionPool
from operators.serving.scheduler import PATIENCE, ScheduledJob, Scheduler, fill_of, pass_times, select
from tests.operators.serving.toys import HEAD, POISON, Failing, alone, ask, scheduler
from tests.toy import Poisoned, ToyStore

#: As on two cores: two single tokens cost more together than one after the other, sixteen far less.
CORES = pass_times(PassCosts((1, 2, 4, 8, 16, 32), (7.5, 17.0, 25.0, 38.0, 55.0, 100.0)), 14)


def waits(size: int, place: int, is_final: bool = False, passed_over: int = 0) -> ScheduledJob:
    """A job whose request waits for a pass."""
    job = ScheduledJob(ask([place], is_final=is_final), lambda _request: None)
    job.size, job.place, job.passed_over = size, place, passed_over
    return job


crowded = st.builds(waits, st.integers(1, 40), st.integers(0, 99), st.booleans(), st.integers(0, PATIENCE))
crowds = st.lists(crowded, min_size=1, max_size=12, unique_by=lambda one: one.place)
times = st.lists(st.floats(0.1, 9.0), min_size=32, max_size=32).map(
    lambda steps: [sum(steps[:number]) for number in range(len(steps) + 1)]
)


@given(crowds, times, st.integers(1, 12))
def test_a_pass_serves_the_first_and_whom_it_saves_time(
    crowd: list[ScheduledJob], pass_ms: list[float], most: int
) -> None:
    first, *others = select(crowd, pass_ms, most)
    urgent = [one for one in crowd if one.is_final or one.passed_over >= PATIENCE]
    assert first == min(urgent or crowd, key=lambda one: one.place)
    assert len(others) < most
    if others:
        together = pass_ms[first.size + sum(one.size for one in others)]
        assert together < pass_ms[first.size] + sum(pass_ms[one.size] for one in others)


@pytest.mark.parametrize(
    ("crowd", "pass_ms", "chosen"),
    [
        # A few single tokens go one after the other, and many together.
        ([waits(1, place) for place in range(3)], CORES, [0]),
        ([waits(1, place) for place in range(16)], CORES, list(range(16))),
        # Short requests join a long draft, and another long draft does not.
        ([waits(16, 0), waits(16, 1), waits(1, 2), waits(1, 3)], CORES, [0, 2, 3]),
        # Where any pass costs the same, all that fit are in it, and what does not fit goes alone.
        ([waits(8, place) for place in range(12)], pass_times(FLAT, 64), list(range(8))),
        ([waits(65, 0), waits(1, 1)], pass_times(FLAT, 64), [0]),
    ],
)
def test_requests_share_a_pass_where_that_saves_time(
    crowd: list[ScheduledJob], pass_ms: list[float], chosen: list[int]
) -> None:
    assert [one.place for one in select(crowd, pass_ms, 99)] == chosen


@given(st.lists(st.floats(0.1, 1000.0), min_size=1, max_size=8))
def test_a_pass_is_filled_up_to_where_a_token_stops_getting_cheaper(ms: list[float]) -> None:
    costs = PassCosts(tuple(2**n for n in range(len(ms))), tuple(sorted(ms)))
    each = [costs.of(tokens) / tokens for tokens in range(1, costs.tokens[-1] + 1)]
    fill = fill_of(costs)
    assert each[fill - 1] <= 1.1 * min(each) * (1 + 1e-9)
    assert all(ms > 1.1 * min(each) * (1 - 1e-9) for ms in each[: fill - 1])


class Counting(ToyStore):
    """Counts the tokens of each part of each pass."""

    def __init__(self, sequences: int) -> None:
        super().__init__(sequences)
        self.passes: list[list[int]] = []

    def evaluate_parts(self, parts: Sequence[Part]) -> list[Logits]:
        self.passes.append([len(part.tokens) for part in parts])
        return super().evaluate_parts(parts)


def run(served: Scheduler, jobs: Sequence[ScheduledJob]) -> None:
    while not all(job.has_ended for job in jobs):
        served.step()


def test_a_pass_answers_what_waits_up_to_its_size_and_no_further() -> None:
    store = Counting(9)
    served = scheduler(8, 7, store)
    run(served, [served.add(ask([4, 5, number])) for number in range(1, 7)])
    assert store.passes[0] == [3, 3]
    assert all(sum(sizes) <= 7 for sizes in store.passes)


def test_finals_without_end_go_first_and_starve_nobody() -> None:
    served = scheduler(3, 1)
    partial = served.add(ask([5], key="quiet"))
    chatty = [served.add(ask([6, number], is_final=True, key=f"chatty {number}")) for number in (1, 2)]
    passes, finals = 0, 0
    while not partial.has_ended:
        served.step()
        passes += 1
        for place, job in enumerate(chatty):
            if job.has_ended:
                finals += 1
                chatty[place] = served.add(ask([6, passes % 7], is_final=True, key=f"chatty {place + 1}"))
    assert finals > 1
    assert passes <= partial.result[1].passes * (PATIENCE + 2)


def test_no_more_begin_than_are_enough_for_a_pass_but_for_finals() -> None:
    served, jobs = scheduler(9, 18), list[ScheduledJob]()
    while served.has_room(is_final=False):
        jobs.append(served.add(ask([4, 5, len(jobs)])))
    assert len(jobs) == 3
    assert served.has_room(is_final=True)
    run(served, jobs)
    assert served.has_room(is_final=False)


def test_what_a_pass_takes_is_shared_out_by_tokens() -> None:
    times = iter(range(1000))
    served = scheduler(2, 64, clock=lambda: float(next(times)))
    jobs = [served.add(ask([4, 5, 6])), served.add(ask([4]))]
    served.step()
    first, second = (job.cost.model_s for job in jobs)
    assert first == 3 * second
    assert first + second == 2.0


@pytest.mark.parametrize(
    ("store", "kind"),
    [(Failing(5), ErrorKind.FAILED_PASS), (Poisoned(5, POISON), ErrorKind.NOT_A_NUMBER)],
)
def test_a_job_whose_pass_fails_costs_no_other_job_anything(store: ToyStore, kind: ErrorKind) -> None:
    served = scheduler(4, 64, store)
    good, bad = served.add(ask([4, 5])), served.add(ask([4, POISON]))
    run(served, [good, bad])
    assert isinstance(bad.error, ModelError)
    assert bad.error.kind is kind
    assert good.result[0].tokens == alone("retranslate").decoder.decode(ask([4, 5]))[0].tokens


def test_a_defect_of_a_method_reaches_whoever_asked_for_it_and_nobody_else() -> None:
    def broken() -> Iterator[Forward]:
        yield Forward([*HEAD, 3], 2)
        raise KeyError("a defect")

    served = scheduler(2, 64)
    bad, good = served.add(DecodeRequest("bad", broken())), served.add(ask([5]))  # type: ignore[arg-type]
    run(served, [bad, good])
    with pytest.raises(KeyError):
        _ = bad.result
    assert good.result[0].tokens == alone("retranslate").decoder.decode(ask([5]))[0].tokens


def test_a_head_that_is_broken_is_evaluated_anew() -> None:
    store = Poisoned(3, poison=-1)
    served = Scheduler(SessionPool(store, HEAD, 2), fill=64)
    store.caches[0].tokens[1] = -1
    want = alone("retranslate").decoder.decode(ask([5]))[0]
    for _ in range(2):
        with pytest.raises(ModelError):
            served.decode(ask([5]))
    assert served.decode(ask([5]))[0].tokens == want.tokens
