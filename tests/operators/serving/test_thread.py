"""Rooms on a thread of their own: a caller that hands in an update goes on, and gets its result."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from threading import Event
from time import sleep

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.decoding.forward import Logits
from operators.models.kv import Part
from operators.serving.rooms import Done, RoomsThread, Update
from operators.serving.scheduler import Scheduler
from operators.trouble import Trouble
from tests.operators.serving.toy_rooms import (
    alone,
    by_segment,
    fail,
    methods,
    scheduler,
    talks,
    tokens_alone,
    toy_rooms,
)
from tests.toy import ToyStore

Result = Done | Exception


def started(
    served: Scheduler, method: str = "retranslate", *, keep_up: bool = False, most: int = 1000
) -> RoomsThread:
    return RoomsThread(toy_rooms(served, method, keep_up=keep_up), most)


def said(text: str, *, room: str = "a", number: int = 0, is_final: bool = False) -> Update:
    return Update(room, 0, text, is_final, number=number)


def good(result: Result) -> Done:
    assert isinstance(result, Done), result
    return result


@given(talks(), methods, st.integers(1, 4))
def test_what_several_threads_hand_in_is_translated_as_if_each_were_alone(
    updates: list[Update], method: str, sessions: int
) -> None:
    want = tokens_alone(alone(method), updates)
    thread, results = started(scheduler(sessions, 16), method), SimpleQueue[Result]()
    rooms = {update.room for update in updates}

    def hand_in(room: str) -> None:
        for number, update in enumerate(updates):
            if update.room == room:
                thread.hand_in(update._replace(number=number), results.put)

    with ThreadPoolExecutor(8) as workers:
        list(workers.map(hand_in, rooms))
    thread.close()
    assert by_segment(good(results.get_nowait()) for _ in updates) == want


class Held(ToyStore):
    """Waits in its first pass until it may go on, and tells that it waits."""

    def __init__(self, sequences: int) -> None:
        super().__init__(sequences)
        self.waits, self.may_go_on = Event(), Event()
        self.sizes: list[int] = []
        self.is_ready = False

    def evaluate(self, sequence: int, tokens: Sequence[int], start: int, rows: int) -> Logits:
        if self.is_ready and not self.waits.is_set():
            self.waits.set()
            assert self.may_go_on.wait(60)
        return super().evaluate(sequence, tokens, start, rows)

    def evaluate_parts(self, parts: Sequence[Part]) -> list[Logits]:
        self.sizes.append(len(parts))
        return super().evaluate_parts(parts)


def test_what_comes_while_the_model_computes_is_in_the_next_pass_together() -> None:
    store, results = Held(7), SimpleQueue[Result]()
    thread = started(scheduler(6, 64, store))
    store.is_ready = True
    thread.hand_in(said("a b", room="first"), results.put)
    assert store.waits.wait(60)
    for number in range(4):
        thread.hand_in(said("a b c", room=str(number)), results.put)
    assert results.empty()
    store.may_go_on.set()
    assert {good(results.get(timeout=60)).update.room for _ in range(5)} == {"first", "0", "1", "2", "3"}
    thread.close()
    assert max(store.sizes) >= 4


def test_overtaken_updates_are_named_by_the_one_that_has_overtaken_them() -> None:
    store, results = Held(3), SimpleQueue[Result]()
    thread = started(scheduler(2, 64, store), keep_up=True)
    store.is_ready = True
    thread.hand_in(said("a", number=1), results.put)
    assert store.waits.wait(60)
    for number, text in enumerate(("a b", "a b c", "a b c d"), 2):
        thread.hand_in(said(text, number=number), results.put)
    store.may_go_on.set()
    first, last = (good(results.get(timeout=60)) for _ in range(2))
    thread.close()
    assert (first.update.number, len(first.overtaken)) == (1, 0)
    assert (last.update.number, list(last.overtaken)) == (4, [2, 3])
    assert not thread._deliver


def test_whoever_hands_in_more_than_there_is_room_for_waits_until_something_is_done() -> None:
    store, results = Held(3), SimpleQueue[Result]()
    thread = started(scheduler(2, 64, store), most=2)
    store.is_ready = True
    for number in range(2):
        thread.hand_in(said("a", number=number), results.put)
    with ThreadPoolExecutor(1) as worker:
        third = worker.submit(thread.hand_in, said("a b", number=2), results.put)
        sleep(0.02)
        assert not third.done()
        store.may_go_on.set()
        third.result(60)
    thread.close()
    assert [good(results.get_nowait()).update.number for _ in range(3)] == [0, 1, 2]


def test_trouble_with_the_model_is_in_the_result_of_its_update_alone() -> None:
    store, results = ToyStore(3), SimpleQueue[Result]()
    thread = started(scheduler(2, 64, store))
    for number, is_broken in enumerate((True, False)):
        store.before = fail if is_broken else lambda _sequence, _tokens: None
        thread.hand_in(said("a b", number=number), results.put)
        output = good(results.get(timeout=60)).output
        assert output.trouble is (Trouble.FAILED_PASS if is_broken else None)
        assert output.why == ("llama_decode returned -3" if is_broken else "")
    thread.close()


@pytest.mark.parametrize("waits", [1, 3])
def test_a_defect_reaches_all_who_wait_and_does_not_end_the_thread(waits: int) -> None:
    class Broken(Held):
        is_broken = True

        def evaluate(self, sequence: int, tokens: Sequence[int], start: int, rows: int) -> Logits:
            logits = super().evaluate(sequence, tokens, start, rows)
            if self.is_ready and self.is_broken:
                self.is_broken = False
                raise KeyError("a defect")
            return logits

    store, results = Broken(3), SimpleQueue[Result]()
    thread = started(scheduler(2, 64, store), most=waits)
    store.is_ready = True
    for number in range(waits):
        thread.hand_in(said("a", room=str(number)), results.put)
    store.may_go_on.set()
    errors = [results.get(timeout=60)]
    while not results.empty():
        errors.append(results.get_nowait())
    assert all(isinstance(error, KeyError) for error in errors)
    # What was handed in afterwards is translated, and there is room for it.
    for number in range(waits):
        thread.hand_in(said("a b", room="later", number=number), results.put)
    thread.close()
    texts = []
    while not results.empty():
        if isinstance(one := results.get_nowait(), Done):
            texts.append((one.update.room, one.update.text))
    assert texts[-waits:] == [("later", "a b")] * waits


def test_it_ends_when_all_that_was_handed_in_is_done() -> None:
    store, results = Held(3), SimpleQueue[Result]()
    thread = started(scheduler(2, 64, store))
    store.is_ready = True
    thread.hand_in(said("a b"), results.put)
    assert store.waits.wait(60)
    with ThreadPoolExecutor(1) as workers:
        closing = workers.submit(thread.close)
        store.may_go_on.set()
        closing.result(60)
    assert good(results.get_nowait()).update.text == "a b"
    assert not thread._thread.is_alive()


def test_it_can_be_stopped_after_the_pass_in_progress() -> None:
    store, results = Held(3), SimpleQueue[Result]()
    thread = started(scheduler(2, 64, store))
    store.is_ready = True
    for number in range(100):
        thread.hand_in(said("a b" if number % 2 else "b c", number=number), results.put)
    assert store.waits.wait(60)
    with ThreadPoolExecutor(1) as workers:
        stopping = workers.submit(thread.stop)
        while not thread._is_stopped:
            sleep(0.001)
        store.may_go_on.set()
        stopping.result(60)
    assert not thread._thread.is_alive()
    assert results.qsize() <= 1


def test_segments_that_have_ended_or_are_forgotten_hold_no_sessions() -> None:
    store, results = ToyStore(3), SimpleQueue[Result]()
    thread = started(scheduler(2, 64, store))
    thread.hand_in(said("a b", room="ended", is_final=True), results.put)
    thread.hand_in(said("a b", room="open"), results.put)
    for _ in range(2):
        results.get(timeout=60)
    assert any(cache.tokens for cache in store.caches[1:])
    thread.forget("open", 0)
    thread.close()
    assert not any(cache.tokens for cache in store.caches[1:])
