"""Workers that share a scheduler on a thread of its own."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.decoding.forward import Logits
from operators.decoding.translator import Output
from operators.models.store import Part
from operators.serving.rooms import Update
from operators.serving.thread import SchedulerThread
from operators.trouble import ModelTrouble
from tests.operators.serving.toy_rooms import (
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
from tests.toy import ToyStore


@given(talks(), methods, st.integers(1, 4))
@settings(max_examples=30)
def test_workers_get_what_each_would_get_alone(updates: list[Update], method: str, sessions: int) -> None:
    want = translate_alone(alone(method), updates)
    thread = SchedulerThread(scheduler(sessions, 16))
    model = translator(thread, method)
    by_room: dict[str, list[Update]] = {}
    for update in updates:
        by_room.setdefault(update.room, []).append(update)
    got: dict[tuple[str, int], list[Output]] = {}
    with ThreadPoolExecutor(8) as workers:
        for one in workers.map(lambda some: translate_alone(model, some), by_room.values()):
            got |= one
    thread.close()
    assert {key: [one.tokens for one in outputs] for key, outputs in got.items()} == {
        key: [one.tokens for one in outputs] for key, outputs in want.items()
    }


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
    store = Held(7)
    thread = SchedulerThread(scheduler(6, 64, store))
    store.is_ready = True
    with ThreadPoolExecutor(6) as workers:
        first = workers.submit(thread.decode, ask([4, 5], key="first"))
        assert store.waits.wait(60)
        others = [
            workers.submit(thread.decode, ask([4, 5, number], key=str(number))) for number in range(1, 5)
        ]
        while thread._inbox.qsize() < 4:
            pass
        store.may_go_on.set()
        results = [one.result(60)[0].tokens for one in (first, *others)]
    thread.close()
    assert max(store.sizes) >= 4
    decoder = alone("retranslate")._decoder
    prompts = [[4, 5], *([4, 5, number] for number in range(1, 5))]
    assert results == [decoder.decode(ask(prompt))[0].tokens for prompt in prompts]


def test_trouble_with_the_model_reaches_the_worker_that_waits() -> None:
    thread = SchedulerThread(scheduler(2, 64, Failing(3)))
    with pytest.raises(ModelTrouble, match="returned -3"):
        thread.decode(ask([POISON]))
    assert thread.decode(ask([5]))[0] == alone("retranslate")._decoder.decode(ask([5]))[0]
    thread.close()


def test_a_defect_in_a_pass_ends_what_waits_and_not_the_thread() -> None:
    class Broken(ToyStore):
        is_broken = True

        def evaluate(self, sequence: int, tokens: Sequence[int], start: int, rows: int) -> Logits:
            if start and self.is_broken:
                self.is_broken = False
                raise KeyError("a defect")
            return super().evaluate(sequence, tokens, start, rows)

    thread = SchedulerThread(scheduler(2, 64, Broken(3)))
    with pytest.raises(KeyError, match="a defect"):
        thread.decode(ask([5]))
    assert thread.decode(ask([5]))[0] == alone("retranslate")._decoder.decode(ask([5]))[0]
    thread.close()


def test_it_ends_when_all_that_was_handed_in_is_done() -> None:
    store = Held(3)
    thread = SchedulerThread(scheduler(2, 64, store))
    store.is_ready = True
    with ThreadPoolExecutor(2) as workers:
        asked = workers.submit(thread.decode, ask([4, 5]))
        assert store.waits.wait(60)
        closing = workers.submit(thread.close)
        store.may_go_on.set()
        assert asked.result(60)[0] == alone("retranslate")._decoder.decode(ask([4, 5]))[0]
        closing.result(60)
    assert not thread._thread.is_alive()


def test_released_sessions_are_free() -> None:
    store = ToyStore(3)
    thread = SchedulerThread(scheduler(2, 64, store))
    thread.decode(ask([4, 5], key="a"))
    assert any(cache.tokens for cache in store.caches[1:])
    thread.release("a")
    thread.close()
    assert not any(cache.tokens for cache in store.caches[1:])
