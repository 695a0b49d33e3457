"""Rooms that talk at the same time: what is overtaken, what never is, and who has no place."""

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.decoding.forward import Logits
from operators.decoding.translator import Output, SegmentState, Translator
from operators.serving.admission import TooManyRoomsError
from operators.serving.rooms import Done, Rooms, Update, Waiting, Working
from operators.serving.scheduler import Scheduler
from operators.trouble import ModelTrouble, Trouble
from tests.operators.serving.toy_rooms import (
    alone,
    methods,
    scheduler,
    talks,
    translate_alone,
    translator,
)
from tests.toy import ToyStore


def rooms_of(
    served: Scheduler, method: str = "retranslate", most: int = 99
) -> tuple[Rooms[SegmentState, Output], Translator]:
    model = translator(served, method)

    def work(waiting: Waiting, state: SegmentState | None) -> Working[SegmentState, Output]:
        update = waiting.update
        return model.updating(update.key, state or SegmentState(), update.text, is_final=update.is_final)

    def release(update: Update, state: SegmentState) -> None:
        model.release(update.key, state)

    return Rooms(served, work, release, most), model


def finish(rooms: Rooms[SegmentState, Output]) -> list[Done[Output]]:
    done = []
    while not rooms.is_idle:
        done += rooms.step()
    return done


def steps(data: st.DataObject) -> Iterator[int]:
    while True:
        yield data.draw(st.integers(0, 4))


@given(talks(), methods, st.integers(1, 6), st.integers(1, 12), st.data())
def test_what_is_translated_is_what_one_room_alone_would_get_of_the_same_updates(
    updates: list[Update], method: str, sessions: int, fill: int, data: st.DataObject
) -> None:
    rooms, _ = rooms_of(scheduler(sessions, fill), method)
    done = []
    for update, count in zip(updates, steps(data), strict=False):
        rooms.hand_in(update)
        for _ in range(count):
            done += rooms.step()
    done += finish(rooms)

    want = translate_alone(alone(method), [one.update for one in done])
    got: dict[tuple[str, int], list[tuple[int, ...]]] = {}
    for one in done:
        got.setdefault((one.update.room, one.update.segment), []).append(one.made.tokens)
    assert got == {key: [output.tokens for output in outputs] for key, outputs in want.items()}
    # Finals are never shed, and what is shed is counted, where it was overtaken.
    assert [one for one in updates if one.is_final] == sorted(
        (one.update for one in done if one.update.is_final), key=updates.index
    )
    assert len(done) + rooms.overtaken == len(updates)
    assert sum(one.overtaken for one in done) == rooms.overtaken


def update(text: str, *, room: str = "a", segment: int = 0, is_final: bool = False) -> Update:
    return Update(room, segment, text, is_final)


def test_only_the_newest_partial_of_a_segment_is_translated() -> None:
    rooms, _ = rooms_of(scheduler(2, 64))
    for text in ("a", "a b", "a b c"):
        rooms.hand_in(update(text))
    rooms.hand_in(update("d", segment=1))
    assert [(one.update.text, one.overtaken) for one in finish(rooms)] == [("a b c", 2), ("d", 0)]
    assert rooms.overtaken == 2


def test_a_final_overtakes_the_partials_of_its_segment_and_goes_before_those_of_others() -> None:
    rooms, _ = rooms_of(scheduler(2, 64))
    rooms.hand_in(update("c", segment=1))
    rooms.hand_in(update("a"))
    rooms.hand_in(update("a b", is_final=True))
    assert [one.update.text for one in finish(rooms)] == ["a b", "c"]


def test_nothing_is_lost_of_what_a_recogniser_says_after_a_final() -> None:
    rooms, _ = rooms_of(scheduler(2, 64))
    for text, is_final in (("a", True), ("b", False), ("c", True)):
        rooms.hand_in(update(text, is_final=is_final))
    assert [one.update.text for one in finish(rooms)] == ["a", "c"]
    assert rooms.overtaken == 1


def test_a_chatty_room_does_not_starve_a_quiet_one() -> None:
    rooms, _ = rooms_of(scheduler(1, 64))
    for number in range(30):
        rooms.hand_in(update("a", room="chatty", segment=number, is_final=True))
    rooms.hand_in(update("b", room="quiet"))
    done = [one.update.room for one in finish(rooms)]
    assert done.index("quiet") <= 5
    assert len(done) == 31


def test_a_room_too_many_is_told_so_and_the_others_go_on() -> None:
    rooms, _ = rooms_of(scheduler(4, 64), most=2)
    rooms.hand_in(update("a", room="a"))
    rooms.hand_in(update("a", room="b"))
    with pytest.raises(TooManyRoomsError, match=r"^room 'c' has no place: 2 rooms are in, .*translate.rooms"):
        rooms.hand_in(update("a", room="c"))
    rooms.hand_in(update("b", room="a"))
    rooms.leave("a")
    assert {one.update.room for one in finish(rooms)} == {"a", "b"}
    rooms.hand_in(update("a", room="c"))
    assert [one.update.room for one in finish(rooms)] == ["c"]


def test_a_room_that_leaves_is_translated_to_its_end_and_frees_its_sessions() -> None:
    store = ToyStore(4)
    rooms, _ = rooms_of(scheduler(3, 64, store))
    rooms.hand_in(update("a b"))
    rooms.step()
    rooms.hand_in(update("a b c"))
    rooms.leave("a")
    assert [one.update.text for one in finish(rooms)] == ["a b", "a b c"]
    assert not any(cache.tokens for cache in store.caches[1:])


def test_an_update_whose_pass_fails_keeps_its_last_caption_and_ends_no_other() -> None:
    class Failing(ToyStore):
        is_broken = False

        def evaluate(self, sequence: int, tokens: Sequence[int], start: int, rows: int) -> Logits:
            if self.is_broken and sequence == 1:
                raise ModelTrouble(Trouble.FAILED_PASS, "llama_decode returned -3")
            return super().evaluate(sequence, tokens, start, rows)

    store = Failing(5)
    rooms, _ = rooms_of(scheduler(4, 64, store))
    for room in "ab":
        rooms.hand_in(update("a", room=room))
    before = {one.update.room: one.made.tokens for one in finish(rooms)}
    store.is_broken = True  # the first sequence is that of the first room
    for room in "ab":
        rooms.hand_in(update("a b", room=room))
    done = {one.update.room: one.made for one in finish(rooms)}
    assert done["a"].trouble is Trouble.FAILED_PASS
    assert done["a"].tokens == before["a"]
    assert done["b"].trouble is None
    assert (
        done["b"].tokens
        == alone("retranslate").update("b/0", SegmentState(), "a b", is_final=False)[1].tokens
    )
