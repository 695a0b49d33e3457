"""Rooms that talk at the same time: what is overtaken, what never is, and what is remembered."""

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from operators.decoding.translator import SegmentState
from operators.serving.rooms import Done, Rooms, Update
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


def finish(rooms: Rooms) -> list[Done]:
    done = []
    while not rooms.is_idle:
        done += rooms.step()
    return done


def steps(data: st.DataObject) -> Iterator[int]:
    while True:
        yield data.draw(st.integers(0, 4))


@given(talks(), methods, st.integers(1, 6), st.integers(1, 12), st.booleans(), st.data())
def test_what_is_translated_is_what_one_room_alone_would_get_of_the_same_updates(
    updates: list[Update], method: str, sessions: int, fill: int, keep_up: bool, data: st.DataObject
) -> None:
    rooms = toy_rooms(scheduler(sessions, fill), method, keep_up=keep_up)
    done = []
    for update, count in zip(updates, steps(data), strict=False):
        rooms.hand_in(update)
        for _ in range(count):
            done += rooms.step()
    done += finish(rooms)

    want = tokens_alone(alone(method), [one.update for one in done])
    assert by_segment(done) == want
    # Finals are never shed, and what is shed is counted, where it was overtaken.
    assert [one for one in updates if one.is_final] == sorted(
        (one.update for one in done if one.update.is_final), key=updates.index
    )
    assert len(done) + rooms.overtaken == len(updates)
    assert sum(len(one.overtaken) for one in done) == rooms.overtaken
    assert keep_up or not rooms.overtaken
    # Nothing is left of segments that have ended.
    assert set(rooms._rooms) == {one.room for one in updates} - {
        room
        for room in {one.room for one in updates}
        if {one.segment for one in updates if one.room == room}
        == {one.segment for one in updates if one.room == room and one.is_final}
    }


def update(text: str, *, room: str = "a", segment: int = 0, is_final: bool = False) -> Update:
    return Update(room, segment, text, is_final)


def test_only_the_newest_partial_of_a_segment_is_translated() -> None:
    rooms = toy_rooms(scheduler(2, 64))
    for number, text in enumerate(("a", "a b", "a b c"), 7):
        rooms.hand_in(update(text)._replace(number=number))
    rooms.hand_in(update("d", segment=1))
    done = [(one.update.text, list(one.overtaken)) for one in finish(rooms)]
    assert done == [("a b c", [7, 8]), ("d", [])]
    assert rooms.overtaken == 2


def test_a_final_overtakes_the_partials_of_its_segment_and_goes_before_those_of_others() -> None:
    rooms = toy_rooms(scheduler(2, 64))
    rooms.hand_in(update("c", segment=1))
    rooms.hand_in(update("a"))
    rooms.hand_in(update("a b", is_final=True))
    assert [one.update.text for one in finish(rooms)] == ["a b", "c"]


def test_nothing_is_lost_of_what_a_recogniser_says_after_a_final() -> None:
    rooms = toy_rooms(scheduler(2, 64))
    for text, is_final in (("a", True), ("b", False), ("c", True)):
        rooms.hand_in(update(text, is_final=is_final))
    assert [one.update.text for one in finish(rooms)] == ["a", "c"]
    assert rooms.overtaken == 1


def test_a_chatty_room_does_not_starve_a_quiet_one() -> None:
    rooms = toy_rooms(scheduler(1, 64))
    for number in range(30):
        rooms.hand_in(update("a", room="chatty", segment=number, is_final=True))
    rooms.hand_in(update("b", room="quiet"))
    done = [one.update.room for one in finish(rooms)]
    assert done.index("quiet") <= 5
    assert len(done) == 31


def test_rooms_that_need_not_keep_up_translate_every_update_in_its_order() -> None:
    rooms = toy_rooms(scheduler(2, 64), keep_up=False)
    for text, segment, is_final in (("a", 0, False), ("a b", 0, False), ("c", 1, True), ("a b c", 0, True)):
        rooms.hand_in(update(text, segment=segment, is_final=is_final))
    assert [one.update.text for one in finish(rooms)] == ["a", "a b", "c", "a b c"]
    assert rooms.overtaken == 0


def test_a_segment_overtaken_ten_thousand_times_takes_no_longer_for_each() -> None:
    rooms = toy_rooms(scheduler(2, 64))
    for number in range(10_000):
        rooms.hand_in(update("a")._replace(number=number))
    (done,) = finish(rooms)
    assert list(done.overtaken) == list(range(9_999))


def test_a_restored_segment_goes_on_with_the_draft_that_it_had() -> None:
    before = toy_rooms(scheduler(2, 64), "ssbd")
    before.hand_in(update("a b c"))
    (first,) = finish(before)
    after = toy_rooms(scheduler(2, 64), "ssbd")
    after.restore("a", 0, first.state)
    for rooms in (before, after):
        rooms.hand_in(update("a b c d"))
    (want,), (got,) = finish(before), finish(after)
    assert got.output.tokens == want.output.tokens
    assert got.output.effort.drafted == want.output.effort.drafted > 0


def test_a_segment_that_is_forgotten_frees_its_sessions_and_begins_anew() -> None:
    store = ToyStore(4)
    rooms = toy_rooms(scheduler(3, 64, store), "ssbd")
    rooms.hand_in(update("a b"))
    finish(rooms)
    assert any(cache.tokens for cache in store.caches[1:])
    rooms.forget("a", 0)
    rooms.forget("nobody", 7)
    assert not any(cache.tokens for cache in store.caches[1:])
    rooms.hand_in(update("a b c"))
    assert [one.output.effort.drafted for one in finish(rooms)] == [0]


def test_an_update_whose_pass_fails_keeps_its_last_caption_and_ends_no_other() -> None:
    store = ToyStore(5)
    rooms = toy_rooms(scheduler(4, 64, store))
    for room in "ab":
        rooms.hand_in(update("a", room=room))
    before = {one.update.room: one.output.tokens for one in finish(rooms)}
    # The first sequence is that of the first room.
    store.before = lambda sequence, tokens: sequence == 1 and fail(sequence, tokens)
    for room in "ab":
        rooms.hand_in(update("a b", room=room))
    done = {one.update.room: one.output for one in finish(rooms)}
    assert done["a"].trouble is Trouble.FAILED_PASS
    assert done["a"].tokens == before["a"]
    assert done["b"].trouble is None
    assert (
        done["b"].tokens
        == alone("retranslate").update("b/0", SegmentState(), "a b", is_final=False)[1].tokens
    )
