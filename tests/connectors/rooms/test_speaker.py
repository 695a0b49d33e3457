"""Speakers over real WebSockets: sound goes in, captions come back, and each room is its own."""

import json
import logging
import socket
import time
from collections.abc import Iterator

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from connectors.http.connection import Socket
from tests.connectors.rooms.speaking import SECOND, Serving, serving
from tests.connectors.web.browser import caption
from tests.waiting import until


@pytest.fixture(name="served")
def _served() -> Iterator[Serving]:
    with serving() as served:
        yield served


def test_sound_goes_in_and_its_captions_come_back_until_the_last(served: Serving) -> None:
    with served.speaker({"room": "Great hall", "to": "Hebrew"}) as speaker:
        speaker.open()
        assert speaker.opened["language"] == {"source": "en", "target": "he", "target_dir": "rtl"}
        for _ in range(4):
            speaker.socket.send(SECOND)
        speaker.until(lambda: speaker.page.text == ["128000"])
        speaker.end()
        assert speaker.until_closed() == 1000
    assert speaker.page.is_over
    assert speaker.page.segments[0]["final"]
    assert speaker.received == 128_000
    assert len(served.rooms) == 0


def test_a_room_is_read_with_its_own_secret_and_with_no_other(served: Serving) -> None:
    with served.speaker({}) as one, served.speaker({}) as other:
        one.open().socket.send(SECOND)
        other.open()
        stream = one.opened["stream"]
        for secret in ("", other.opened["view"], one.opened["key"], "%C3%A9", "%FF"):
            assert served.status(f"/streams/{stream}/events?view={secret}") == 404
        assert served.get(f"/streams/{stream}/events")[1] == served.get("/streams/nobody/events")[1]
        assert served.get("/streams.json")[1] == "[]", "not even the names of rooms are told"
        path = f"/streams/{stream}/events?view={one.opened['view']}"
        with served.raw(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()) as reader:
            assert reader.recv(20).startswith(b"HTTP/1.1 200")
        one.until(lambda: one.page.text == ["32000"])
        assert other.page.text == []


def test_who_opened_a_room_names_its_voices_and_readers_do_not(served: Serving) -> None:
    with served.speaker({}) as one, served.speaker({}) as other:
        stream, _ = one.open().opened["stream"], other.open()
        served.hub.caption(caption("Ja.", stream=stream, final=True, speaker="1"))
        naming = {"type": "name", "speaker": "1", "name": "Anna"}
        # Of another room.
        other.socket.send(json.dumps(naming))
        other.until(lambda: "nobody of that name" in "".join(other.notices))
        view = f"/streams/{stream}/speakers?speaker=1&name=Ben&view={one.opened['view']}"
        own = {"Host": "localhost", "Origin": "http://localhost"}
        assert served.status(view, own, "POST") == 404
        one.until(lambda: one.page.said == [("Sprecher 1", "Ja.")])
        one.socket.send(json.dumps(naming))
        one.until(lambda: one.page.said == [("Anna", "Ja.")])
        assert served.hub.namings.take(stream) == {"1": "Anna"}


def test_a_lost_connection_finishes_the_segment_and_the_speaker_goes_on_where_it_was(served: Serving) -> None:
    with served.speaker({}) as first:
        first.open().socket.send(SECOND)
        first.until(lambda: first.page.text == ["32000"] and first.received == 32_000)
        first.drop()
    with served.speaker({"key": first.opened["key"], "last": first.page.last_id}) as second:
        second.page = first.page
        second.until(lambda: bool(second.opened))
        assert second.opened["stream"] == first.opened["stream"]
        assert second.opened["received"] == 32_000
        second.until(lambda: second.page.segments[0]["final"])
        second.socket.send(SECOND + SECOND)
        second.end()
        assert second.until_closed() == 1000
    assert second.page.text == ["32000", "64000"]
    assert second.page.snapshots == 1, "only what was missed is sent again"


def test_a_speaker_that_does_not_come_back_leaves_its_place() -> None:
    with serving(linger_s=0.1, rooms=1) as short:
        with short.speaker({}) as gone:
            gone.open().socket.send(SECOND)
            gone.until(lambda: gone.page.text == ["32000"])
            gone.drop()
        until(lambda: len(short.rooms) == 0)
        with short.speaker({}) as next_one:
            next_one.open()


def test_the_newest_connection_speaks_for_a_room(served: Serving) -> None:
    with served.speaker({}) as first:
        first.open()
        with served.speaker({"key": first.opened["key"]}) as second:
            second.open().socket.send(SECOND)
            assert first.until_closed() == 4001
            assert first.refused == "this room was opened in another window, which speaks from now on"
            second.end()
            assert second.until_closed() == 1000
    assert second.page.text == ["32000"]


def test_one_room_too_many_is_refused_and_the_others_go_on() -> None:
    with serving(rooms=2) as served, served.speaker({}) as one, served.speaker({}) as two:
        one.open()
        two.open()
        with served.speaker({}) as three:
            assert three.until_closed() == 1013
            assert three.refused == "all 2 rooms of this server are taken; try again when one has ended"
        assert json.loads(served.get("/rooms.json")[1])["free"] == 0
        one.end()
        assert one.until_closed() == 1000
        with served.speaker({}) as four:
            four.open()


def test_silence_ends_a_room_and_a_connection_that_opens_none() -> None:
    with serving(silence_s=0.3) as served, served.speaker({}) as speaker:
        speaker.open().socket.send(SECOND)
        assert speaker.until_closed() == 1008
        assert speaker.refused.startswith("nothing was heard for 0.3 seconds, so the room has ended; open it")
        until(lambda: len(served.rooms) == 0)
    with serving(opening_s=0.1) as served, served.speaker() as speaker:
        assert speaker.until_closed() == 1008
        assert speaker.refused.startswith("no room was opened within 0.1 seconds")


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        (bytes(65_538), "a message of 65538 bytes is too long"), (bytes(3), "a message has half a sample"),
        ("hello", "after the opening, send sound"), ('{"type": "open"}', "after the opening, send sound"),
    ],
)  # fmt: skip
def test_a_message_that_is_none_is_answered_with_one_sentence(
    served: Serving, message: bytes | str, sentence: str
) -> None:
    with served.speaker({}) as speaker:
        speaker.open().socket.send(message)
        assert speaker.until_closed() == (1009 if len(message) > 65_536 else 1008)
        assert speaker.refused.startswith(sentence)


def test_an_opening_that_is_none_is_answered_with_an_example(served: Serving) -> None:
    nearly = ('{"type": "end"}', '{"type": "open", "room": 3}')
    for opening in ("", "{", "[]", *nearly, b"\0" * 4, "[" * 60_000, "\ud7ff"):
        with served.speaker(opening) as speaker:
            assert speaker.until_closed() == 1008
            assert speaker.refused.startswith("the first message must open a room, such as {")


def test_a_busy_recogniser_holds_the_speaker_back_and_nothing_is_lost() -> None:
    with serving(buffer_s=2.0) as served, served.speaker({}) as speaker:
        speaker.open()
        [room] = served.rooms._rooms.values()
        served.flow.goes.clear()
        for _ in range(10):
            speaker.socket.send(SECOND)
        until(lambda: room.received == 64_000)
        time.sleep(0.2)
        assert room.received == 64_000
        served.flow.goes.set()
        speaker.end()
        assert speaker.until_closed() == 1000
        assert speaker.page.text == ["320000"]


def test_sound_that_comes_too_fast_is_slowed_down_and_none_of_it_is_lost() -> None:
    with serving(bytes_per_second=640_000) as served, served.speaker({}) as speaker:
        speaker.open()
        for _ in range(40):
            speaker.socket.send(SECOND)
        speaker.end()
        assert speaker.until_closed() == 1000
        assert speaker.page.text == [str(40 * 32_000)]
        assert [one.partition(" bytes")[0] for one in speaker.notices] == ["sound comes faster than 640000"]


def test_a_speaker_that_reads_nothing_is_cut_and_may_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Socket, "write_timeout_s", 0.3)
    with serving() as served, served.speaker({}) as slow:
        opened = slow.open().opened
        slow.socket.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        # More than the buffers between the two can hold.
        for number in range(100):
            served.hub.caption(caption("long " * 2000, number, final=True, stream=opened["stream"]))
            time.sleep(0.002)
        until(lambda: served.hub.clients == 0)
        served.hub.caption(caption("the end", 100, final=True, stream=opened["stream"]))
        with served.speaker({"key": opened["key"]}) as back:
            back.until(lambda: "the end" in back.page.text)


def test_the_end_of_the_server_finishes_what_was_accepted_and_tells_speakers() -> None:
    with serving() as served:
        with served.speaker({}) as speaker:
            speaker.open().socket.send(SECOND)
            speaker.until(lambda: speaker.received == 32_000)
            served.flow.stop()
            served.server.stop()
            assert speaker.until_closed() in (1000, 1013)
        assert speaker.page.text == ["32000"]
        assert speaker.page.is_over
        assert speaker.refused == "the server has ended; open the room again when it is back"


def test_a_socket_needs_the_token_and_a_page_of_this_server() -> None:
    with serving(token="the-secret-token") as served:
        cookie = f"surtitle-{served.port}=the-secret-token"
        for headers in ({}, {"Cookie": cookie, "Origin": "http://elsewhere.example"}):
            with pytest.raises(InvalidStatus) as refused, served.speaker({}, **headers):
                pass
            assert refused.value.response.status_code == 403
        with served.speaker({}, Cookie=cookie, Origin=f"http://127.0.0.1:{served.port}") as speaker:
            speaker.open()


def test_strangers_put_no_line_into_the_operator_s_terminal(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with serving(token="the-secret-token") as served:
        for path in ("/rooms", "/nowhere"):
            with pytest.raises(InvalidStatus), connect(f"ws://127.0.0.1:{served.port}{path}"):
                pass
        for rubbish in (b"\0" * 100, b"GET / HTTP/9.9\r\n\r\n", b"GET / HTTP/1.1\r\nHost\r\n\r\n"):
            with served.raw(rubbish) as connection:
                while connection.recv(65536):
                    pass
        with served.speaker(Cookie=f"surtitle-{served.port}=the-secret-token") as speaker:
            speaker.socket.send(b"\xff", text=True)
            assert speaker.until_closed() == 1007
    assert capfd.readouterr() == ("", "")
    assert [one.getMessage() for one in caplog.records if one.levelno > logging.INFO] == []


def test_a_connection_that_became_a_socket_is_not_closed_as_idle(
    served: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("connectors.http.connection.Connection.idle_timeout_s", 0.5)
    with served.speaker({}) as speaker:
        speaker.open()
        time.sleep(0.7)
        speaker.socket.send(SECOND)
        speaker.until(lambda: speaker.page.text == ["32000"])


def test_a_room_is_continued_with_its_key_and_with_nothing_else(served: Serving) -> None:
    with served.speaker({}) as first:
        opened = first.open().opened
    for key in (opened["view"], opened["stream"], ""):
        with served.speaker({"key": key}) as stranger:
            assert stranger.until_closed() == 1008
            assert stranger.refused == "there is no such room any more; open a new one"


def test_a_flood_of_tiny_messages_is_slowed_down_as_if_each_held_some_sound() -> None:
    with serving(bytes_per_second=32_000) as served, served.speaker({}) as speaker:
        speaker.open()
        for number in range(4000):
            speaker.socket.send((b"", b"\1\0")[number % 2])
        speaker.until(lambda: bool(speaker.notices))
        assert "in messages of 320 bytes or more" in speaker.notices[0]
        [room] = served.rooms._rooms.values()
        assert room.received < 4000


def test_a_room_that_no_connection_can_follow_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(rooms=2) as served, served.speaker({}) as first:
        first.open()
        monkeypatch.setattr(served.hub, "_max_clients", 1)
        with served.speaker({}) as second:
            assert second.until_closed() == 1013
            assert second.refused == "this server has no free connection; try again later"
        until(lambda: len(served.rooms) == 1)
        key = {"key": first.opened["key"]}
        with served.speaker(key) as again:
            assert again.until_closed() == 1013
        assert served.rooms.known(key["key"]) is not None, "a room with a speaker stays"
