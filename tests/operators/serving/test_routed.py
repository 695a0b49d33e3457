"""Rooms on two models: each room is translated by its own, and the models take turns."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from queue import SimpleQueue
from threading import Event
from time import sleep
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.serving.rooms import Done, RoomsThread, RoutedRooms, Update
from operators.serving.scheduler import Scheduler
from operators.trouble import Trouble
from tests.operators.serving.toy_rooms import (
    Segments,
    alone,
    by_segment,
    fail,
    scheduler,
    talks,
    tokens_alone,
    toy_rooms,
)
from tests.toy import ToyStore

Routed = RoutedRooms
#: The methods differ in what they show, so a room that gets to the wrong model shows something else.
METHODS = ("retranslate", "ssbd")


def place(room: str) -> int:
    """The number of the model of a room."""
    return int(room[-1]) % 2


def routed(*served: Scheduler, keep_up: bool = False) -> Routed:
    """Rooms whose names end with an even number on the first model, the others on the second."""
    models = [toy_rooms(one, method, keep_up=keep_up) for one, method in zip(served, METHODS, strict=True)]
    return RoutedRooms(models, lambda room: models[place(room)])


def said(text: str, room: str, *, number: int = 0, is_final: bool = False) -> Update:
    return Update(room, 0, text, is_final, number=number)


def finish(rooms: Routed) -> list[Done]:
    done = []
    while not rooms.is_idle:
        done += rooms.step()
    return done


@given(talks(), st.integers(1, 3))
def test_each_room_gets_what_its_model_alone_makes_of_it(updates: list[Update], sessions: int) -> None:
    want: Segments = {}
    for number, method in enumerate(METHODS):
        own = [update for update in updates if place(update.room) == number]
        want |= tokens_alone(alone(method), own)
    rooms = routed(scheduler(sessions, 16), scheduler(sessions, 16))
    for update in updates:
        rooms.hand_in(update)
    assert by_segment(finish(rooms)) == want


def passes(*updates: Update) -> tuple[list[int], list[str]]:
    """The models of the passes that the updates take, and the rooms of these in their order."""
    order: list[int] = []
    stores = [ToyStore(2), ToyStore(2)]
    rooms = routed(*(scheduler(1, 16, store) for store in stores), keep_up=True)
    stores[0].before = lambda _sequence, _tokens: order.append(0)
    stores[1].before = lambda _sequence, _tokens: order.append(1)
    for update in updates:
        rooms.hand_in(update)
    return order, [one.update.room for one in finish(rooms)]


def test_the_model_goes_on_whose_update_has_waited_longest() -> None:
    order, ended = passes(said("a b c", "a1"), said("a b c", "a0"), said("a b c", "b1"))
    assert ended == ["a1", "a0", "b1"]
    # One after the other: in turns, both would end late.
    assert [model for model, _ in groupby(order)] == [1, 0, 1]


def test_an_update_that_overtakes_another_has_waited_as_long() -> None:
    early, late = said("a", "a1"), said("a b", "a1", number=1)
    assert passes(early, said("a b c", "a0"), late)[1] == ["a1", "a0"]


def test_finals_of_any_model_come_first() -> None:
    assert passes(said("a b", "a0"), said("a b", "a1", is_final=True))[1] == ["a1", "a0"]


def test_finals_without_end_do_not_hold_up_another_model() -> None:
    finals = [said("a b c d", f"{number}-1", is_final=True) for number in range(60)]
    ended = passes(said("a b c", "a0"), *finals)[1]
    assert ended.index("a0") < len(finals)


def test_segments_are_restored_and_forgotten_on_the_model_of_their_room() -> None:
    store = ToyStore(2)
    first, second = (routed(scheduler(1, 16), scheduler(1, 16, one)) for one in (None, store))
    first.hand_in(said("a b", "a1"))
    (before,) = finish(first)
    second.restore("a1", 0, before.state)
    second.hand_in(said("a b", "a1"))
    (after,) = finish(second)
    assert after.output.tokens == before.output.tokens
    assert after.output.effort.passes == 0
    second.hand_in(said("a b c", "a1"))
    finish(second)
    assert store.caches[1].tokens
    second.forget("a1", 0)
    assert not store.caches[1].tokens


def test_trouble_with_one_model_is_in_the_results_of_its_rooms_alone() -> None:
    store = ToyStore(3)
    rooms = routed(scheduler(2, 16), scheduler(2, 16, store))
    store.before = fail
    for room in ("a0", "a1"):
        rooms.hand_in(said("a b", room))
    troubles = {one.update.room: one.output.trouble for one in finish(rooms)}
    assert troubles == {"a0": None, "a1": Trouble.FAILED_PASS}


def test_a_defect_in_one_model_reaches_all_who_wait_and_does_not_end_the_thread() -> None:
    defects = [KeyError("a defect")]

    def break_once(_sequence: int, _tokens: Sequence[int]) -> None:
        if defects:
            raise defects.pop()

    store = ToyStore(3)
    rooms, results = routed(scheduler(2, 16), scheduler(2, 16, store)), SimpleQueue[Any]()
    store.before = break_once
    rooms.hand_in(said("a b", "a0"))
    rooms.hand_in(said("a b", "a1"))
    with pytest.raises(KeyError):
        finish(rooms)
    rooms.abandon(KeyError("a defect"))
    assert rooms.is_idle
    thread = RoomsThread(rooms)
    for number, room in enumerate(("a0", "a1")):
        thread.hand_in(said("a b", room, number=number), results.put)
    thread.close()
    assert {results.get_nowait().update.room for _ in range(2)} == {"a0", "a1"}


def test_stopping_ends_all_models_after_the_pass_in_progress() -> None:
    waits, may_go_on = Event(), Event()

    def hold(_sequence: int, _tokens: Sequence[int]) -> None:
        assert not waits.is_set(), "no other pass is made"
        waits.set()
        assert may_go_on.wait(60)

    stores = [ToyStore(2), ToyStore(2)]
    rooms, results = routed(*(scheduler(1, 16, store) for store in stores)), SimpleQueue[Any]()
    for store in stores:
        store.before = hold
    thread = RoomsThread(rooms)
    for number, room in enumerate(("a0", "a1", "b0", "b1")):
        thread.hand_in(said("a b c", room, number=number), results.put)
    assert waits.wait(60)
    with ThreadPoolExecutor(1) as workers:
        stopping = workers.submit(thread.stop)
        while not thread._is_stopped:
            sleep(0.001)
        may_go_on.set()
        stopping.result(60)
    assert not thread._thread.is_alive()
    assert results.empty()
