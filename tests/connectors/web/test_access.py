"""What the server does with those who should not be there."""

import contextlib
import socket

import pytest

from connectors.http.connection import Connection
from connectors.web.hub import Hub
from connectors.web.server import WebServer
from operators.errors import UsageError
from tests.connectors.web.browser import caption, follow
from tests.connectors.web.serving import LANGUAGES, Served, serving, soon


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


def test_only_captions_may_be_styled_by_others(standing: Served) -> None:
    strict = standing.get("/")[0].headers["content-security-policy"]
    assert standing.get("/streams/talk/control")[0].headers["content-security-policy"] == strict
    styled = standing.get("/streams/talk?overlay=1")[0].headers["content-security-policy"]
    assert styled == f"{strict}; style-src-elem 'self' 'unsafe-inline'"


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
        assert served.address.endswith(f":{served.port}/")
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
        tokens = [str(one.server.new_token) for one in (served, other)]
        assert min(map(len, tokens)) >= 20
        assert tokens[0] != tokens[1]
        assert served.status(f"/streams.json?token={tokens[0]}") == 200
        assert served.status(f"/streams.json?token={tokens[1]}") == 403


@pytest.mark.parametrize("token", ["short", "with space in it", "ümlautümlaut", "semi;colon;s", "x" * 200])
def test_a_token_that_is_none_is_said_so_without_repeating_it(token: str) -> None:
    with pytest.raises(UsageError, match="8 to 128") as error:
        WebServer(Hub([LANGUAGES]), port=0, token=token)
    assert token not in str(error.value)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_nothing_can_be_written(standing: Served, method: str) -> None:
    answer, _ = standing.get("/streams.json", method=method)
    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")


def test_there_are_no_more_viewers_than_there_may_be() -> None:
    with serving(max_clients=2) as served, follow(served.port) as first, follow(served.port) as second:
        assert first.read()
        assert second.read()
        answer, body = served.get("/streams/talk/events")
        assert (answer.status, answer.headers["retry-after"]) == (503, "10")
        assert "later" in body
        first.close()
        soon(lambda: served.status("/streams/talk/events", method="HEAD") == 200)


def test_a_request_without_end_is_refused(standing: Served) -> None:
    with standing.raw(b"GET / HTTP/1.1\r\n") as endless, contextlib.suppress(ConnectionError):
        for _ in range(100_000):
            endless.sendall(b"x-more: " + b"x" * 1000 + b"\r\n")
        raise AssertionError("a hundred megabytes of headers were taken")
    assert standing.status("/?" + "x" * 20_000) == 431
    assert standing.status() == 200


@pytest.mark.parametrize("said", ["Content-Length: 5", "Transfer-Encoding: chunked"])
def test_a_request_with_a_body_is_refused_and_the_connection_closed(standing: Served, said: str) -> None:
    request = f"GET /streams/talk/events HTTP/1.1\r\nHost: localhost\r\n{said}\r\n\r\n"
    answer = b""
    with standing.raw(request.encode()) as connection:
        while some := connection.recv(65536):
            answer += some
    assert answer.startswith(b"HTTP/1.1 413")
    assert standing.status(headers={"Content-Length": "0"}) == 200


@pytest.mark.parametrize("request_", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\nGET"])
def test_a_connection_that_asks_for_nothing_is_closed(
    served: Served, request_: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Connection, "idle_timeout_s", 0.1)
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
