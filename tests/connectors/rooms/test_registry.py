"""Rooms, filled by their speakers and emptied by the flow: everything accepted arrives once, in order."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.rooms.keys import RoomKeys
from connectors.rooms.registry import RoomRegistry
from connectors.rooms.room import BYTES_PER_SECOND, RoomLimits
from operators.errors import InputError, UsageError
from operators.events import AudioChunk, channel_of
from operators.languages import language
from tests.subtitled import caption


class Clock:
    """Time that a test moves."""

    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def registry(clock: Clock | None = None, **limits: Any) -> RoomRegistry:
    written = (language("German"), language("Hebrew"), language("Portuguese"))
    return RoomRegistry(RoomLimits(**limits), (language("English"),), written, clock or Clock())


def recognise(rooms: RoomRegistry, chunks: list[AudioChunk]) -> None:
    for chunk in chunks:
        rooms.processed(chunk)


sounds = st.binary(min_size=1, max_size=3000).map(lambda half: half + half)
steps = st.lists(
    st.one_of(
        st.tuples(st.integers(0, 2), sounds),
        st.tuples(st.integers(0, 2), st.just("pause")),
        st.tuples(st.just(0), st.sampled_from(["take", "wait"])),
    ),
    max_size=40,
)


@given(steps, st.floats(0.1, 3.0))
def test_all_accepted_sound_is_delivered_once_and_in_order_whatever_happens(
    steps: list[tuple[int, Any]], buffer_s: float
) -> None:
    clock = Clock()
    rooms = registry(clock, rooms=3, buffer_s=buffer_s)
    opened = [rooms.open(f"room {number}", None, None) for number in range(3)]
    accepted = dict.fromkeys((room.stream for room in opened), b"")
    taken: list[AudioChunk] = []
    for number, what in steps:
        room = opened[number]
        if what == "take":
            new = rooms.take()
            taken += new
            recognise(rooms, new)
        elif what == "wait":
            clock.now_s += 2.0
        elif what == "pause":
            room.pause()
        elif room.accept(what, rooms.now()):
            accepted[room.stream] += what
        else:
            assert room.waiting_s >= buffer_s
    taken += rooms.close()
    for room in opened:
        chunks = [chunk for chunk in taken if chunk.stream == room.stream]
        assert b"".join(chunk.pcm for chunk in chunks) == accepted[room.stream]
        assert len(accepted[room.stream]) == room.received
        ends = [chunk.start_s + chunk.duration_s for chunk in chunks]
        assert all(chunk.start_s >= end - 1e-6 for chunk, end in zip(chunks[1:], ends, strict=False)), (
            "the clock of a stream never goes back"
        )
    assert not opened[0].accept(b"\0\0", rooms.now()), "nothing is accepted after the end"


@given(st.lists(st.integers(1, 4000), min_size=1, max_size=100))
def test_sound_in_short_messages_is_no_more_work_for_the_flow_than_in_long_ones(samples: list[int]) -> None:
    rooms = registry(buffer_s=1000.0)
    room = rooms.open("hall", None, None)
    said = [bytes([number]) * 2 * count for number, count in enumerate(samples)]
    for pcm in said:
        assert room.accept(pcm, 0.0)
    chunks = rooms.close()
    assert b"".join(chunk.pcm for chunk in chunks) == b"".join(said)
    assert all(len(chunk.pcm) == BYTES_PER_SECOND // 10 for chunk in chunks[:-1])
    ends = [chunk.start_s + chunk.duration_s for chunk in chunks]
    assert [chunk.start_s for chunk in chunks[1:]] == pytest.approx(ends[:-1])
    assert room.end_s == pytest.approx(ends[-1])


def test_a_room_with_several_languages_leaves_after_the_last_caption_of_each() -> None:
    rooms = registry()
    room = rooms.open("hall", None, "German,Hebrew")
    final = caption(stream=room.stream)
    room.end()
    assert not rooms.ended(room.stream, 1)
    assert not rooms.shown(final)
    assert rooms.direction(channel_of(room.stream, "he")).code == "en-he"
    assert rooms.shown(final)
    assert rooms.has_left(channel_of(room.stream, "he"))


@pytest.mark.parametrize(
    ("spoken", "written", "codes"),
    [
        ("en", "he", ["en-he"]),
        (None, None, ["en-de"]),
        (None, "he, German", ["en-he", "en-de"]),
        ("en", "pt-BR", ["en-pt"]),
    ],
)
def test_languages_are_those_that_are_offered(
    spoken: str | None, written: str | None, codes: list[str]
) -> None:
    assert [one.code for one in registry().open("hall", spoken, written).directions] == codes


@pytest.mark.parametrize(
    ("spoken", "written", "reason"),
    [
        (None, "de,German", "'de,German' names a language twice"),
        (None, "Danish", "'Danish' cannot be written here; choose from German, Hebrew, Portuguese"),
        ("Klingon", None, "'Klingon' cannot be spoken here; choose from English"),
    ],
)
def test_other_languages_are_refused(spoken: str | None, written: str | None, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        registry().open("hall", spoken, written)


@pytest.mark.parametrize("drift", [-3e-4, 3e-4])
def test_a_speaker_whose_clock_is_slow_or_fast_is_followed_without_a_gap(drift: float) -> None:
    clock = Clock()
    rooms = registry(clock)
    room, sound = rooms.open("hall", None, None), bytes(BYTES_PER_SECOND // 2)
    end_s = 0.5 * drift
    for _ in range(2 * 3600):
        clock.now_s += 0.5 * (1 + drift)
        assert room.accept(sound, rooms.now())
        chunks = rooms.take()
        recognise(rooms, chunks)
        assert chunks[0].start_s == pytest.approx(max(end_s, 0.0))
        end_s = chunks[-1].start_s + chunks[-1].duration_s
        # What was said half a second ago was said half a second ago.
        assert -1e-6 < rooms.clock.at(room.stream) - end_s < 0.5
    # A pause is as long as it was.
    clock.now_s += 5.5
    assert room.accept(sound, rooms.now())
    assert rooms.take()[0].start_s == pytest.approx(end_s + 5.0, abs=0.5)


def kept(path: Path) -> RoomRegistry:
    return RoomRegistry(RoomLimits(), (language("English"),), (language("German"),), keys=RoomKeys(path))


def test_a_file_of_keys_that_cannot_be_written_ends_the_server_but_no_room(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a regular file"):
        kept(tmp_path)
    path = tmp_path / "folder" / "keys"
    path.parent.mkdir()
    rooms = kept(path)
    assert path.stat().st_mode & 0o777 == 0o600
    path.unlink()
    path.parent.rmdir()
    first = rooms.open("hall", None, None)
    path.parent.mkdir()
    rooms.open("other", None, None)
    again = kept(path).open("", None, None, first.key)
    assert (again.key, again.view) == (first.key, first.view)
    # The files of the earlier one are under its stream.
    assert again.stream != first.stream


def test_the_speaker_of_a_room_is_called_like_it_also_when_it_has_left() -> None:
    rooms = registry(rooms=1)
    room = rooms.open("Hall 3", None, None)
    assert rooms.speaker(room.stream) == "Hall 3"
    room.end()
    rooms.take()
    assert rooms.ended(room.stream, 0)
    assert (rooms.speaker(room.stream), rooms.speaker("talk")) == ("Hall 3", "talk")
