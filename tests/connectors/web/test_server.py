"""The server over real HTTP: viewers that come, go, come back, or are slow."""

import json
import socket
import time
from contextlib import suppress

import pytest

from connectors.http.connection import Connection
from connectors.web.hub import Hub
from connectors.web.protocol import Bounds
from connectors.web.server import WebServer
from operators.errors import OutputError
from tests.connectors.web.browser import Page, caption, follow
from tests.connectors.web.serving import LANGUAGES, Served, serving, soon


def test_a_viewer_sees_captions_as_they_are_published(served: Served) -> None:
    served.hub.caption(caption("Guten", source="Good"))
    with follow(served.port) as follower:
        follower.until("Guten")
        served.hub.caption(caption("Guten Morgen", source="Good morning"))
        page = follower.until("Guten Morgen")
        served.hub.caption(caption("Guten Tag", final=True, source="Good day"))
        follower.until("Guten Tag")
    assert page.snapshots == 1
    assert [one["settled"] for one in page.updates] == [5, 9]
    assert page.segments[0]["source"] == "Good day"


def test_a_stream_that_is_not_there_yet_is_waited_for(served: Served) -> None:
    with follow(served.port, stream="later") as follower:
        assert follower.read()
        assert json.loads(served.get("/streams.json")[1]) == []
        served.hub.caption(caption("here", stream="later"))
        follower.until("here")


def test_streams_that_were_only_asked_for_are_not_remembered(served: Served) -> None:
    for number in range(200):
        with follow(served.port, stream=f"none-{number}") as follower:
            assert follower.read()
    soon(lambda: not list(served.hub._streams))


def test_more_streams_than_are_remembered_take_no_readers_from_one_that_goes_on(served: Served) -> None:
    with follow(served.port, stream="stream-0") as follower:
        for text in ("Guten Tag", "Guten Abend"):
            for number in range(100):
                served.hub.caption(caption(text, stream=f"stream-{number}"))
            follower.until(text)
    served.hub.caption(caption("text", stream="stream-1"))
    assert len(served.hub.listed()) == 64


def test_a_slow_viewer_is_cut_and_resumes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Connection, "write_timeout_s", 0.3)
    with serving(bounds=Bounds(messages=15)) as served:
        slow = socket.socket()
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.connect(("127.0.0.1", served.port))
        with slow, follow(served.port) as other:
            slow.sendall(b"GET /streams/talk/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            first = slow.recv(1000)
            soon(lambda: served.hub.clients == 2)
            for number in range(50):
                served.hub.caption(caption(f"{number} " + "long " * 4000, number, final=True))
                other.until(f"{number} long")
            soon(lambda: served.hub.clients == 1)
            served.hub.caption(caption("the end", 50, final=True))
            other.until("the end")
        page = Page()
        page.take(first[: first.rfind(b"\n\n")].partition(b"\r\n\r\n")[2])
        with follow(served.port, page) as back:
            back.until("the end")
        assert page.segments.items() <= other.page.segments.items()


def test_a_viewer_that_fell_too_far_behind_is_sent_off_to_get_a_snapshot() -> None:
    with serving(bounds=Bounds(messages=5)) as served:
        served.hub.caption(caption("begin"))
        with follow(served.port) as follower:
            page = follower.until("begin")
            with served.hub.lock:
                # All at once, before the server's thread can look.
                log = served.hub._streams["talk"].log
                for number in range(1, 20):
                    log.caption(caption(f"sentence {number}", number, final=True))
            served.hub.caption(caption("newest", 20))
            while follower.read():
                pass
        assert "newest" not in page.text
        with follow(served.port, page) as follower:
            follower.until("newest")
        assert page.snapshots == 2
        assert len(page.text) == 21


def test_a_silent_stream_is_heard_of_now_and_then_without_new_numbers(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("connectors.web.hub._HEARTBEAT_S", 0.1)
    served.hub.caption(caption("text"))
    with follow(served.port) as follower:
        page = follower.until("text")
        for _ in range(3):
            page.state = None
            while page.state is None:
                assert follower.read()
    assert page.last_id is not None
    assert page.last_id.endswith("-1")


def test_stopping_gives_each_viewer_all_there_was_and_the_end() -> None:
    with serving() as served:
        served.hub.caption(caption("first"))
        with follow(served.port) as follower:
            page = follower.until("first")
            served.hub.caption(caption("first and last", final=True))
            served.server.stop()
            while follower.read():
                pass
        assert (page.text, page.is_over) == (["first and last"], True)
        with pytest.raises(ConnectionRefusedError):
            served.raw()
        # What the flow still says goes nowhere, and harms nobody.
        served.hub.caption(caption("too late", 1))
        served.server.stop()


@pytest.mark.parametrize("path", ["/page.css", "/streams.json", "/nothing", "/streams/talk/events"])
def test_a_client_that_asks_and_asks_and_reads_nothing_is_let_go(
    monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setattr(Connection, "write_timeout_s", 0.2)
    monkeypatch.setattr(Connection, "idle_timeout_s", 0.4)
    with serving() as served, socket.socket() as deaf:
        for number in range(200):
            served.hub.caption(caption("long " * 200, number, final=True))
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.connect(("127.0.0.1", served.port))
        deaf.setblocking(False)
        asked = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode() * 50

        def is_let_go() -> bool:
            with suppress(OSError):
                deaf.send(asked)
            return not sockets_of(served)

        soon(lambda: sockets_of(served) == 1)
        soon(is_let_go)


def sockets_of(served: Served) -> int:
    background = served.server._server
    assert background is not None
    return len(background.server_state.connections)


def test_stopping_does_not_wait_for_a_viewer_that_takes_nothing() -> None:
    with serving() as served:
        stuck = socket.socket()
        stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        stuck.connect(("127.0.0.1", served.port))
        with stuck:
            stuck.sendall(b"GET /streams/talk/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            soon(lambda: served.hub.clients == 1)
            for number in range(50):
                served.hub.caption(caption("long " * 5000, number, final=True))
            began = time.monotonic()
            served.server.stop()
            assert time.monotonic() - began < 30


@pytest.mark.parametrize("host", ["127.0.0.1", "no.such.host.invalid", "192.0.2.1"])
def test_an_address_that_is_taken_or_not_ours_is_one_sentence(served: Served, host: str) -> None:
    with pytest.raises(OutputError, match=r"^captions cannot be served at .*; choose another --port or"):
        WebServer(Hub([LANGUAGES]), host=host, port=served.port).start()
