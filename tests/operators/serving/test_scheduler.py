"""Many methods on one model say what each of them says alone."""

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.decoding.decoder import Decode
from operators.decoding.drive import CostMeter
from operators.decoding.forward import Forward, Logits
from operators.decoding.translator import Output, SegmentState, Updating
from operators.models.kv import Part
from operators.models.pool import SessionPool
from operators.serving.rooms import Update
from operators.serving.scheduler import PATIENCE, Job, Scheduler
from operators.trouble import ModelTrouble, NoRoom, Trouble
from tests.operators.serving.toy_rooms import (
    HEAD,
    POISON,
    Failing,
    alone,
    ask,
    methods,
    scheduler,
    talks,
    translate_alone,
    translator,
)
from tests.toy import Poisoned, ToyStore


def translate_together(
    served: Scheduler,
    method: str,
    updates: Sequence[Update],
    beginning: Iterator[bool],
    max_source: int = 100,
) -> dict[tuple[str, int], list[Output]]:
    """What becomes of all updates.

    Those of a room one after the other, and each handed in as soon as ``beginning`` says so and the one
    before it is done.
    """
    model = translator(served, method, max_source=max_source)
    made: dict[tuple[str, int], list[Output]] = {}
    states: dict[str, SegmentState] = {}
    waiting = list(updates)
    working: dict[Job, tuple[Update, Updating]] = {}

    def go_on(update: Update, work: Updating, job: Job | None) -> None:
        try:
            working[served.add(next(work) if job is None else work.send(job.result))] = update, work
        except StopIteration as end:
            states[update.key], output = end.value
            made.setdefault((update.room, update.segment), []).append(output)

    while waiting or working:
        busy = {update.room for update, _ in working.values()}
        for update in list(waiting):
            if update.room not in busy and next(beginning):
                waiting.remove(update)
                before = states.get(update.key, SegmentState())
                go_on(update, model.updating(update.key, before, update.text, is_final=update.is_final), None)
            busy.add(update.room)
        for job in served.step():
            go_on(*working.pop(job), job)
    return made


def texts_of(made: dict[tuple[str, int], list[Output]]) -> dict[tuple[str, int], list[tuple[object, ...]]]:
    return {
        key: [
            (one.tokens, one.trouble, one.effort.drafted, one.effort.accepted, one.effort.passes)
            for one in outputs
        ]
        for key, outputs in made.items()
    }


@given(talks(), methods, st.integers(1, 6), st.integers(1, 12), st.data())
def test_any_interleaving_of_any_number_of_rooms_gives_what_one_at_a_time_gives(
    updates: list[Update], method: str, sessions: int, fill: int, data: st.DataObject
) -> None:
    want = translate_alone(alone(method), updates)
    beginning = iter(lambda: data.draw(st.booleans()), None)
    got = translate_together(scheduler(sessions, fill), method, updates, beginning)
    assert texts_of(got) == texts_of(want)


@given(talks(), methods, st.integers(1, 6), st.integers(1, 12))
def test_a_segment_of_several_windows_is_the_same_in_a_crowd(
    updates: list[Update], method: str, sessions: int, fill: int
) -> None:
    want = translate_alone(alone(method, max_source=2), updates)
    got = translate_together(scheduler(sessions, fill), method, updates, iter(lambda: True, None), 2)
    assert texts_of(got) == texts_of(want)


class Counting(ToyStore):
    """Counts the passes that it is asked for, and what is in them."""

    def __init__(self, sequences: int) -> None:
        super().__init__(sequences)
        self.passes: list[list[int]] = []

    def evaluate_parts(self, parts: Sequence[Part]) -> list[Logits]:
        self.passes.append([len(part.tokens) for part in parts])
        return super().evaluate_parts(parts)


def run(served: Scheduler, jobs: Sequence[Job]) -> None:
    while not all(job.has_ended for job in jobs):
        served.step()


def test_what_several_segments_wait_for_is_answered_in_one_pass() -> None:
    store = Counting(5)
    served = scheduler(4, 64, store)
    jobs = [served.add(ask([4, 5, number])) for number in range(1, 5)]
    served.step()
    assert store.passes == [[3, 3, 3, 3]]
    run(served, jobs)
    assert served.load.passes < sum(job.result[1].passes for job in jobs)
    assert served.load.requests == sum(job.result[1].passes for job in jobs)
    assert served.load.tokens == sum(job.result[1].evaluated for job in jobs)


def test_a_pass_is_filled_up_to_its_size_and_no_further() -> None:
    store = Counting(9)
    served = scheduler(8, 7, store)
    run(served, [served.add(ask([4, 5, number])) for number in range(1, 7)])
    assert store.passes[0] == [3, 3]
    assert all(sum(sizes) <= 7 for sizes in store.passes)


def test_a_request_larger_than_that_goes_alone() -> None:
    served = scheduler(2, 4)
    long, short = served.add(ask([5] * 9)), served.add(ask([6]))
    served.step()
    assert served.load == (1, 1, 9)
    run(served, [long, short])


def test_finals_go_before_those_who_have_waited_longer() -> None:
    served = scheduler(4, 1)
    first, final = served.add(ask([5])), served.add(ask([6], is_final=True))
    while not final.has_ended:
        served.step()
    assert not first.has_ended
    run(served, [first])


def test_finals_without_end_starve_nobody() -> None:
    served = scheduler(3, 1)
    partial = served.add(ask([5], key="quiet"))
    chatty = [served.add(ask([6, number], is_final=True, key=f"chatty {number}")) for number in (1, 2)]
    passes = 0
    while not partial.has_ended:
        served.step()
        passes += 1
        for place, job in enumerate(chatty):
            if job.has_ended:
                chatty[place] = served.add(ask([6, passes % 7], is_final=True, key=f"chatty {place + 1}"))
    assert passes <= partial.result[1].passes * (PATIENCE + 2)


def test_no_more_begin_than_are_enough_for_a_pass_but_for_finals() -> None:
    served = scheduler(9, 18)
    jobs = [served.add(ask([4, 5, number])) for number in range(1, 8)]
    assert not served.has_room(is_final=False)
    assert sum(job.request is not None for job in jobs) == 3
    final = served.add(ask([4, 6, 6], is_final=True))
    assert final.request is not None
    run(served, [*jobs, final])
    assert served.has_room(is_final=False)


def test_one_job_after_the_other_is_a_scheduler_of_one() -> None:
    served = scheduler(4, 64, most=1)
    jobs = [served.add(ask([5, number])) for number in range(1, 4)]
    ended = [job for _ in range(60) for job in served.step()]
    assert ended == jobs
    assert served.load.requests == served.load.passes


def test_what_a_pass_takes_is_shared_out_by_tokens() -> None:
    times = iter(range(1000))
    served = scheduler(2, 64, clock=lambda: float(next(times)))
    jobs = [served.add(ask([4, 5, 6])), served.add(ask([4]))]
    served.step()
    first, second = (job._meters[False].with_draft(CostMeter()).model_s for job in jobs)
    assert first == 3 * second
    assert first + second == 2.0


def test_a_room_whose_pass_fails_costs_no_other_room_anything() -> None:
    served = scheduler(4, 64, Failing(5))
    good, bad = served.add(ask([4, 5])), served.add(ask([4, POISON]))
    want = alone("retranslate")._decoder.decode(ask([4, 5]))[0]
    while not (good.has_ended and bad.has_ended):
        served.step()
    with pytest.raises(ModelTrouble, match="returned -3"):
        _ = bad.result
    if 6 in want.tokens:
        pytest.fail("the toy says 6 here; ask it for something else")
    assert good.result[0].tokens == want.tokens


def test_logits_that_are_no_numbers_fail_their_own_room_alone() -> None:
    served = scheduler(4, 64, Poisoned(5, POISON))
    good, bad = served.add(ask([4, 5])), served.add(ask([4, POISON]))
    run(served, [good, bad])
    assert isinstance(bad.error, ModelTrouble)
    assert good.error is None
    assert bad.error.kind is Trouble.NOT_A_NUMBER


class Crowded(ToyStore):
    """A store with so many cells for all sequences together."""

    def __init__(self, sequences: int, cells: int) -> None:
        super().__init__(sequences)
        self.cells = cells

    def evaluate(self, sequence: int, tokens: Sequence[int], start: int, rows: int) -> Logits:
        if sum(len(cache.tokens) for cache in self.caches) + len(tokens) > self.cells:
            self.caches[sequence].tokens.append(1)  # llama.cpp may have got half-way
            raise NoRoom("llama_decode returned 1")
        return super().evaluate(sequence, tokens, start, rows)


@given(talks(), methods, st.integers(2, 5))
def test_a_memory_that_is_full_loses_caches_and_no_results(
    updates: list[Update], method: str, sessions: int
) -> None:
    want = translate_alone(alone(method), updates)
    # Room for the head, and for one session of it with all that it may need, but seldom for another.
    served = scheduler(sessions, 64, Crowded(sessions + 1, 2 * len(HEAD) + 10 + 1 + 12 + 1))
    got = translate_together(served, method, updates, iter(lambda: True, None))
    assert {key: [one.tokens for one in outputs] for key, outputs in got.items()} == {
        key: [one.tokens for one in outputs] for key, outputs in want.items()
    }


def test_a_defect_of_a_method_reaches_whoever_asked_for_it_and_nobody_else() -> None:
    def broken() -> Iterator[Forward]:
        yield Forward([*HEAD, 3], 2)
        raise KeyError("a defect")

    served = scheduler(2, 64)
    bad, good = served.add(Decode("bad", broken())), served.add(ask([5]))  # type: ignore[arg-type]
    run(served, [bad, good])
    with pytest.raises(KeyError):
        _ = bad.result
    assert good.result[0].tokens == alone("retranslate")._decoder.decode(ask([5]))[0].tokens


def test_a_head_that_is_broken_is_evaluated_anew() -> None:
    store = Poisoned(3, poison=-1)
    served = Scheduler(SessionPool(store, HEAD, 2), fill=64)
    store.caches[0].tokens[1] = -1
    want = alone("retranslate")._decoder.decode(ask([5]))[0]
    for _ in range(2):
        with pytest.raises(ModelTrouble):
            served.decode(ask([5]))
    assert served.decode(ask([5]))[0].tokens == want.tokens
