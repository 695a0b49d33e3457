"""Which streams of a flow are let in."""

from operators.serving.admission import QUIET_S, AdmissionControl


class Clock:
    now_s = 0.0

    def now(self) -> float:
        return self.now_s


def test_a_stream_too_many_is_told_of_once_and_counted() -> None:
    told: list[str] = []
    door = AdmissionControl(2, Clock().now, told.append)
    assert [door.admits(stream) for stream in "abab"] == [True] * 4
    assert (door.complaint(), told) == (None, [])
    assert [door.admits(stream) for stream in "cbc"] == [False, True, False]
    assert len(told) == 1
    assert told[0].startswith("room 'c' has no place: 2 rooms are in, the most that translate.rooms allows")
    assert door.refused == 2
    assert door.complaint() == ("2 updates of 1 stream without a place were left out; raise translate.rooms")


def test_a_room_that_has_been_quiet_for_long_gives_its_place_away() -> None:
    clock, told = Clock(), list[str]()
    door = AdmissionControl(2, clock.now, told.append)
    assert door.admits("a")
    clock.now_s = QUIET_S / 2
    assert door.admits("b")
    assert not door.admits("c")
    clock.now_s = QUIET_S
    assert door.admits("c")
    assert not door.admits("a")
    assert len(told) == 2


def test_streams_with_ever_new_names_are_all_counted_but_not_all_told() -> None:
    told: list[str] = []
    door = AdmissionControl(1, Clock().now, told.append)
    assert door.admits("a")
    assert not any(door.admits(f"stream {number}") for number in range(1500))
    assert len(told) == 1000
    assert (door.complaint() or "").startswith("1500 updates of at least 1000 streams without a place")
