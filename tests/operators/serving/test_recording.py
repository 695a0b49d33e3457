"""Rooms that say what was recorded, each at another place of it."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from operators.serving.rooms import Update
from operators.serving.simulation import Heard, Recording


@st.composite
def recordings(draw: st.DrawFn) -> list[Heard]:
    heard, at_s = list[Heard](), draw(st.floats(0, 100))
    for segment, count in enumerate(draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))):
        for place in range(count):
            heard.append(Heard(segment, f"{segment} {place}", place == count - 1, at_s))
            at_s += draw(st.floats(0.1, 2.0))
    return heard


def of_each(updates: list[Update]) -> list[list[Update]]:
    return [[one for one in updates if one.room == room] for room in {one.room for one in updates}]


@given(recordings(), st.integers(1, 5), st.floats(0.5, 20.0))
def test_rooms_say_whole_segments_in_their_order_and_at_their_pace(
    heard: list[Heard], rooms: int, seconds: float
) -> None:
    recording = Recording(heard)
    updates = list(recording.arrivals(rooms, seconds))
    assert [one.arrival_s for one in updates] == sorted(one.arrival_s for one in updates)
    assert all(0.0 <= one.arrival_s < seconds for one in updates)
    for said in of_each(updates):
        # A room begins with a segment's first hypothesis, and leaves none out from there on.
        assert said[0].number == 0 or heard[said[0].number - 1].segment != heard[said[0].number].segment
        for one, following in pairwise(said):
            assert following.number == (one.number + 1) % len(heard)
            assert (following.segment == one.segment) == (not one.is_final)
            apart_s = heard[following.number].arrival_s - heard[one.number].arrival_s
            apart_s += 0 if following.number else recording.length_s
            assert abs(following.arrival_s - one.arrival_s - apart_s) < 1e-6


def test_rooms_are_spread_over_the_recording() -> None:
    heard = [Heard(number, "a", True, float(number)) for number in range(100)]
    first = [said[0].number for said in of_each(list(Recording(heard).arrivals(20, 5.0)))]
    assert len(set(first)) == 20
    # No fifth of it is without a room.
    assert {number * 5 // 100 for number in first} == set(range(5))


def test_a_room_begins_again_when_all_was_said() -> None:
    heard = [Heard(0, "a", False, 3.0), Heard(0, "a b", True, 4.0)]
    said = list(Recording(heard).arrivals(1, 4.0))
    assert [(one.segment, one.text) for one in said] == [(0, "a"), (0, "a b"), (1, "a"), (1, "a b"), (2, "a")]
