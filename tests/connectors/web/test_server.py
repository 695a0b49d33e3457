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
from tests.connectors.web.browser import caption, follow
from tests.connectors.web.serving import LANGUAGES, Served, serving
from tests.waiting import until


def test_a_stream_that_is_not_there_yet_is_waited_for_but_not_remembered(served: Served) -> None:
    for number in range(100):
        with follow(served.port, stream=f"none-{number}") as follower:
            assert follower.read()
    with follow(served.port, stream="later") as follower:
        assert follower.read()
        until(lambda: list(served.hub._streams) == ["later"])
        assert json.loads(served.get("/streams.json")[1]) == []
        served.hub.caption(caption("here", stream="later"))
        follower.until("here")


def test_more_streams_than_are_remembered_take_no_readers_from_one_that_goes_on(served: Served) -> None:
    with follow(served.port, stream="stream-0") as follower:
        for text in ("Guten Tag", "Guten Abend"):
            for number in range(100):
                served.hub.caption(caption(text, stream=f"stream-{number}"))
            follower.until(text)
    served.hub.caption(caption("text", stream="stream-1"))
    assert len(served.hub.listed()) == 64


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
    assert str(page.last_id).endswith("-1")


def test_stopping_gives_each_viewer_all_there_was_and_the_end(served: Served) -> None:
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


EVENTS = b"GET /streams/talk/events HTTP/1.1\r\nHost: localhost\r\n\r\n"


def deaf(served: Served, request: bytes = b"") -> socket.socket:
    """A connection whose client reads nothing."""
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    one.connect(("127.0.0.1", served.port))
    one.sendall(request)
    return one


def say_much(served: Served) -> None:
    for number in range(200):
        served.hub.caption(caption("long " * 1000, number, final=True))


def test_a_viewer_that_reads_no_more_is_cut(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Connection, "write_timeout_s", 0.2)
    monkeypatch.setattr(Connection, "idle_timeout_s", 0.1)
    with deaf(served, EVENTS):
        until(lambda: served.hub.clients == 1)
        time.sleep(0.3)  # in which nothing is said, so that it counts as no idle connection any more
        say_much(served)
        until(lambda: served.hub.clients == 0)


@pytest.mark.parametrize("path", ["/page.css", "/streams.json", "/streams/talk/events"])
def test_a_client_that_asks_and_asks_and_reads_nothing_is_let_go(
    served: Served, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setattr(Connection, "write_timeout_s", 0.2)
    monkeypatch.setattr(Connection, "idle_timeout_s", 0.4)
    background = served.server._server
    assert background is not None
    connections = background.server_state.connections
    say_much(served)
    with deaf(served) as client:
        client.setblocking(False)
        asked = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode() * 50

        def is_let_go() -> bool:
            with suppress(OSError):
                client.send(asked)
            return not connections

        until(lambda: len(connections) == 1)
        until(is_let_go)


def test_stopping_does_not_wait_for_a_viewer_that_takes_nothing(served: Served) -> None:
    with deaf(served, EVENTS):
        until(lambda: served.hub.clients == 1)
        say_much(served)
        began = time.monotonic()
        served.server.stop()
        assert time.monotonic() - began < 30


@pytest.mark.parametrize("host", ["127.0.0.1", "no.such.host.invalid", "192.0.2.1"])
def test_an_address_that_is_taken_or_not_ours_is_one_sentence(served: Served, host: str) -> None:
    with pytest.raises(OutputError, match=r"^captions cannot be served at .*; choose another --port or"):
        WebServer(Hub([LANGUAGES]), host=host, port=served.port).start()
