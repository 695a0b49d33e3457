"""The server over real HTTP: viewers that come, go, come back, are slow, or should not be there."""

import contextlib
import http.client
import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread

import pytest

from connectors.status_line import Status
from connectors.web.assets import Asset, load_assets
from connectors.web.connection import Connection
from connectors.web.hub import Hub, Patience
from connectors.web.messages import Languages
from connectors.web.protocol import Bounds
from connectors.web.server import WebServer
from operators.errors import OutputError, UsageError
from tests.connectors.web.browser import Page, caption, follow

LANGUAGES = Languages(source="en", target="he", target_dir="rtl")
PAGES = ("index", "page", "control")
TYPES = {
    "html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8", "svg": "image/svg+xml",
    "js": "text/javascript; charset=utf-8", "txt": "text/plain; charset=utf-8",
}  # fmt: skip


class Served:
    """A hub and where it is served."""

    def __init__(self, hub: Hub, server: WebServer) -> None:
        self.hub = hub
        self.server = server
        self.address = server.start()
        self.port = int(self.address.split(":")[2].partition("/")[0])

    def get(
        self, path: str, headers: dict[str, str] | None = None, method: str = "GET"
    ) -> tuple[http.client.HTTPResponse, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request(method, path, headers=headers or {})
            answer = connection.getresponse()
            return answer, answer.read().decode()
        finally:
            connection.close()

    def status(
        self, path: str = "/streams.json", headers: dict[str, str] | None = None, method: str = "GET"
    ) -> int:
        return self.get(path, headers, method)[0].status

    def raw(self, request: bytes = b"") -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=10)
        connection.sendall(request)
        return connection


@contextmanager
def serving(
    *,
    streams: list[str] | None = None,
    bounds: Bounds | None = None,
    patience: Patience | None = None,
    most_clients: int = 100,
    host: str = "127.0.0.1",
    token: str | None = None,
    names: tuple[str, ...] = (),
) -> Iterator[Served]:
    hub = Hub(LANGUAGES, streams or [], bounds=bounds, patience=patience, most_clients=most_clients)
    server = WebServer(hub, host=host, port=0, token=token, names=names, most_clients=most_clients)
    try:
        yield Served(hub, server)
    finally:
        server.stop()


@pytest.fixture
def served() -> Iterator[Served]:
    with serving() as one:
        yield one


@pytest.fixture(scope="module")
def standing() -> Iterator[Served]:
    """A server that several tests only read from."""
    with serving() as one:
        yield one


def soon(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not is_so():
        assert time.monotonic() < deadline, "it never came to be"
        time.sleep(0.01)


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


def test_what_was_published_before_anybody_could_come_is_no_hindrance() -> None:
    hub = Hub(LANGUAGES)
    hub.caption(caption("early", 0, final=True))
    hub.status(Status(state="speech"))
    server = WebServer(hub, port=0)
    served = Served(hub, server)
    try:
        with follow(served.port) as follower:
            follower.until("early")
            hub.caption(caption("later", 1))
            assert follower.until("later").state == "speech"
    finally:
        server.stop()


def test_a_late_viewer_gets_the_history_and_the_open_sentence(served: Served) -> None:
    for number in range(5):
        served.hub.caption(caption(f"sentence {number}", number, final=True))
    served.hub.caption(caption("and now", 5))
    with follow(served.port) as follower:
        page = follower.until("and now")
    assert page.text == [*(f"sentence {number}" for number in range(5)), "and now"]
    assert page.updates == []
    assert follower.answer.headers["content-type"] == "text/event-stream; charset=utf-8"


def test_a_viewer_that_comes_back_in_mid_sentence_gets_what_it_missed_and_no_more(served: Served) -> None:
    served.hub.caption(caption("The quick"))
    with follow(served.port) as follower:
        page = follower.until("The quick")
    served.hub.caption(caption("The quick brown"))
    served.hub.caption(caption("The slow brown fox", final=True))
    served.hub.caption(caption("It", 1))
    with follow(served.port, page) as follower:
        follower.until("It")
    assert page.snapshots == 1
    assert [one["segment"] for one in page.updates] == [0, 0, 1]
    assert page.text == ["The slow brown fox", "It"]


def test_a_viewer_that_comes_back_to_another_run_gets_a_snapshot(served: Served) -> None:
    for number in range(3):
        served.hub.caption(caption(f"old {number}", number, final=True))
    with follow(served.port) as follower:
        page = follower.until("old 2")
    with serving() as again:
        for number in range(5):
            again.hub.caption(caption(f"new {number}", number, final=True))
        with follow(again.port, page) as follower:
            follower.until("new 4")
    assert page.snapshots == 2
    assert page.text == [f"new {number}" for number in range(5)]


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
    soon(lambda: not served.hub._streams)


def test_streams_are_bounded_and_the_one_that_was_silent_for_longest_goes(served: Served) -> None:
    for number in range(100):
        served.hub.caption(caption("text", stream=f"stream-{number}"))
    listed = [one.name for one in served.hub.listed()]
    assert listed == [f"stream-{number}" for number in range(36, 100)]


def test_a_slow_viewer_is_cut_and_resumes() -> None:
    patience = Patience(stall_s=0.3)
    with serving(patience=patience, bounds=Bounds(octets=300_000)) as served:
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


def test_a_viewer_that_dies_is_forgotten(served: Served) -> None:
    with served.raw(b"GET /streams/talk/events HTTP/1.1\r\nHost: localhost\r\n\r\n") as dying:
        assert dying.recv(1000)
        soon(lambda: served.hub.clients == 1)
        dying.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")  # close with a reset
    soon(lambda: served.hub.clients == 0)
    served.hub.caption(caption("still there"))
    with follow(served.port) as follower:
        follower.until("still there")


def test_a_silent_stream_is_heard_of_now_and_then_without_new_numbers() -> None:
    with serving(patience=Patience(heartbeat_s=0.1)) as served:
        served.hub.caption(caption("text"))
        with follow(served.port) as follower:
            page = follower.until("text")
            for _ in range(3):
                page.state = None
                while page.state is None:
                    assert follower.read()
        assert page.last_id is not None
        assert page.last_id.endswith("-1")


def test_what_the_run_does_reaches_the_streams(served: Served) -> None:
    served.hub.caption(caption("text"))
    with follow(served.port) as follower:
        served.hub.status(Status(state="no microphone"), "the microphone has gone")
        while follower.page.state != "no microphone":
            assert follower.read()


def test_the_end_is_told_and_the_history_can_still_be_read(served: Served) -> None:
    served.hub.caption(caption("text", final=True))
    with follow(served.port) as follower:
        follower.until("text")
        served.hub.end()
        follower.until_over()
    with follow(served.port) as follower:
        assert follower.until_over().text == ["text"]


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


def test_stopping_does_not_wait_for_a_viewer_that_takes_nothing() -> None:
    with serving(patience=Patience(farewell_s=0.2)) as served:
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
            assert time.monotonic() - began < 3


def test_publishing_does_not_wait_and_all_threads_may() -> None:
    with serving() as served, follow(served.port, stream="stream-2") as follower:
        assert follower.read()

        def publish(first: int) -> None:
            for number in range(200):
                served.hub.caption(caption(f"sentence {number}", number, stream=f"stream-{first}"))

        threads = [Thread(target=publish, args=(first,)) for first in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
        assert len(follower.until("sentence 199").updates) == 200


def test_scripts_in_texts_and_names_stay_text(served: Served) -> None:
    evil = '<script>alert("1")</script>'
    served.hub.caption(caption(evil, stream=evil, source=evil))
    with follow(served.port, stream="%3Cscript%3Ealert(%221%22)%3C%2Fscript%3E") as follower:
        page = follower.until(evil)
    assert page.segments[0]["source"] == evil
    answer, body = served.get("/streams.json")
    assert answer.headers["content-type"] == "application/json"
    assert json.loads(body)[0]["name"] == evil


@pytest.mark.parametrize(
    "path", ["/", "/streams.json", "/streams/talk/events", "/nothing", "/static/nothing.js"]
)
def test_every_answer_has_the_headers_that_keep_others_out(standing: Served, path: str) -> None:
    with follow(standing.port) as follower:
        headers = follower.answer.headers if path.endswith("events") else standing.get(path)[0].headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "frame-ancestors 'self'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert not [name for name in headers if name.lower().startswith("access-control")]
    assert "server" not in headers


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200), ("127.0.0.1:9999", 200), ("[::1]:8080", 200), ("LOCALHOST", 200),
        ("evil.example", 421), ("localhost.evil.example", 421), ("", 421), ("[", 421), ("192.168.1.1", 421),
        ("evil.example:@localhost:1", 421),
    ],
)  # fmt: skip
def test_only_its_own_names_are_answered(standing: Served, host: str, status: int) -> None:
    assert standing.status(headers={"Host": host}) == status


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://localhost:1", 200),
        ("http://evil.example", 403),
        ("null", 403),
        ("http://localhost:2", 403),
        ("", 403),
    ],
)
def test_only_its_own_pages_may_ask(standing: Served, origin: str, status: int) -> None:
    assert standing.status(headers={"Host": "localhost:1", "Origin": origin}) == status


def test_further_names_can_be_given() -> None:
    with serving(names=("captions.example",)) as served:
        assert served.status(headers={"Host": "captions.example"}) == 200
        assert served.status(headers={"Host": "other.example"}) == 421


def test_an_address_that_others_reach_needs_the_token_once_and_the_cookie_from_then_on() -> None:
    with serving(host="0.0.0.0", token="opensesame") as served:
        assert served.address.endswith("/?token=opensesame")
        for path in (
            "/",
            "/streams.json",
            "/static/page.js",
            "/streams/talk/events",
            "/?token=opensesam",
            "/?token=",
        ):
            answer, body = served.get(path)
            assert (answer.status, "opensesame" in body) == (403, False), path
            assert "set-cookie" not in answer.headers
        answer, _ = served.get("/streams.json?token=opensesame")
        assert answer.status == 200
        kept, *attributes = answer.headers["set-cookie"].split("; ")
        assert set(attributes) == {"Path=/", "HttpOnly", "SameSite=Strict"}
        assert served.status("/streams.json", {"Cookie": kept}) == 200
        assert served.status("/streams.json", {"Cookie": f"other=1; {kept}"}) == 200
        assert served.status("/streams.json", {"Cookie": kept[:-1]}) == 403
        assert served.status("/streams.json", {"Cookie": kept.replace("opensesame", "öpensesame")}) == 403
        served.hub.caption(caption("secret"))
        with follow(served.port, headers={"Cookie": kept}) as follower:
            follower.until("secret")
        # Any address of this machine will do as its name, but no name that somebody else may own.
        assert served.status("/streams.json", {"Cookie": kept, "Host": "192.168.1.7:80"}) == 200
        assert served.status("/streams.json", {"Cookie": kept, "Host": "evil.example"}) == 421


def test_a_token_is_made_where_none_was_given() -> None:
    with serving(host="0.0.0.0") as served, serving(host="0.0.0.0") as other:
        tokens = [one.address.partition("?token=")[2] for one in (served, other)]
        assert min(map(len, tokens)) >= 20
        assert tokens[0] != tokens[1]
        assert served.status(f"/streams.json?token={tokens[0]}") == 200
        assert served.status(f"/streams.json?token={tokens[1]}") == 403


@pytest.mark.parametrize("token", ["short", "with space in it", "ümlautümlaut", "semi;colon;s", "x" * 200])
def test_a_token_that_is_none_is_said_so_without_repeating_it(token: str) -> None:
    with pytest.raises(UsageError, match="8 to 128") as error:
        WebServer(Hub(LANGUAGES), token=token)
    assert token not in str(error.value)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_nothing_can_be_written(standing: Served, method: str) -> None:
    answer, _ = standing.get("/streams.json", method=method)
    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")


def test_asking_for_headers_only_is_answered_at_once(standing: Served) -> None:
    answer, body = standing.get("/streams/talk/events", method="HEAD")
    assert (answer.status, body) == (200, "")


def test_pages_are_served_from_memory_under_their_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    pages = {f"{name}.html": Asset(name.encode(), "text/html; charset=utf-8", f'"{name}"') for name in PAGES}
    monkeypatch.setattr("connectors.web.app.load_assets", lambda: pages)
    with serving() as served:
        for path, name in (
            ("/", "index"), ("/static/page.html", "page"), ("/streams/talk", "page"),
            ("/streams/talk?overlay=1", "page"), ("/streams/talk/control", "control"),
            ("/streams/a%2Fb", "page"), ("/streams/a%2Fb/control", "control"),
        ):  # fmt: skip
            answer, body = served.get(path)
            assert (answer.status, body) == (200, name), path
            assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert served.status("/", {"If-None-Match": '"index"'}) == 304
        assert served.status("/", {"If-None-Match": '"older"'}) == 200


def test_all_files_of_the_page_are_served_as_what_they_are(standing: Served) -> None:
    assets = load_assets()
    assert "robots.txt" in assets
    for name, asset in assets.items():
        answer, body = standing.get(f"/static/{name}")
        assert (answer.headers["content-type"], body.encode()) == (asset.media_type, asset.content)
        assert answer.headers["content-type"] == TYPES[name.rpartition(".")[2]]


def test_the_list_says_of_each_stream_how_it_is(served: Served) -> None:
    for number in range(3):
        served.hub.caption(caption("text", number))
    with follow(served.port) as follower:
        follower.until("text")
        listed = json.loads(served.get("/streams.json")[1])
        assert listed == [{"name": "talk", "state": "listening", "segments": 3, "clients": 1}]
    served.hub.end()
    assert json.loads(served.get("/streams.json")[1])[0]["state"] == "ended"


def test_what_is_not_there_is_404(standing: Served) -> None:
    for path in ("/nothing", "/static/../server.py", "/static/..%2fserver.py", "/static/", "/static/%00"):
        assert standing.status(path) == 404, path


def test_there_are_no_more_viewers_than_there_may_be() -> None:
    with serving(most_clients=2) as served, follow(served.port) as first, follow(served.port) as second:
        assert first.read()
        assert second.read()
        answer, body = served.get("/streams/talk/events")
        assert (answer.status, answer.headers["retry-after"]) == (503, "10")
        assert "later" in body
        first.close()
        soon(lambda: served.status("/streams/talk/events", method="HEAD") == 200)


def test_a_request_without_end_is_refused(standing: Served) -> None:
    with standing.raw(b"GET / HTTP/1.1\r\n") as endless, contextlib.suppress(ConnectionError):
        for _ in range(2000):
            endless.sendall(b"x-more: " + b"x" * 1000 + b"\r\n")
        raise AssertionError("two megabytes of headers were taken")
    assert standing.status("/?" + "x" * 20_000) == 431
    assert standing.status() == 200


@pytest.mark.parametrize("request_", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\nGET"])
def test_a_connection_that_asks_for_nothing_is_closed(
    served: Served, request_: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Connection, "patience_s", 0.1)
    with served.raw(request_) as waiting:
        try:
            while waiting.recv(65536):
                pass
        except ConnectionResetError:
            pass


def test_rubbish_does_no_harm(standing: Served, capfd: pytest.CaptureFixture[str]) -> None:
    for rubbish in (
        b"\0" * 100,
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00",
        b"GET / HTTP/1.1\r\nHost\r\n\r\n",
    ):
        with standing.raw(rubbish) as connection:
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(65536):
                pass
    assert standing.status("/streams.json", {"Cookie": 'a="\x01', "Last-Event-ID": "x" * 5000}) == 200
    assert standing.status() == 200
    assert capfd.readouterr() == ("", "")


def test_a_port_that_is_taken_is_one_sentence(served: Served) -> None:
    with pytest.raises(OutputError, match=rf"127\.0\.0\.1:{served.port}: .*in use; choose another --port"):
        WebServer(Hub(LANGUAGES), port=served.port).start()


@pytest.mark.parametrize("host", ["no.such.host.invalid", "192.0.2.1"])
def test_an_address_that_is_not_ours_is_one_sentence(host: str) -> None:
    with pytest.raises(OutputError, match="captions cannot be served at"):
        WebServer(Hub(LANGUAGES), host=host, port=0).start()
