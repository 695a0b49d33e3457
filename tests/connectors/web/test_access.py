"""What the server does with those who should not be there."""

import contextlib

import pytest

from connectors.http.connection import Connection
from connectors.web.hub import Hub
from connectors.web.server import WebServer
from operators.errors import UsageError
from tests.connectors.web.browser import caption, follow
from tests.connectors.web.serving import LANGUAGES, Served, serving
from tests.waiting import until


@pytest.mark.parametrize("path", ["/", "/streams.json", "/streams/a/control", "/streams/a/events", "/a.js"])
def test_every_answer_has_the_headers_that_keep_others_out(standing: Served, path: str) -> None:
    with follow(standing.port) as follower:
        headers = follower.answer.headers if path.endswith("events") else standing.get(path)[0].headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "frame-ancestors 'self'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert not [name for name in headers if name.lower().startswith(("access-control", "server"))]


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200), ("LOCALHOST:9999", 200), ("[::1]:8080", 200), ("captions.example", 200),
        ("evil.example", 421), ("localhost.evil.example", 421), ("", 421), ("[", 421), ("192.168.1.1", 421),
        ("evil.example:@localhost:1", 421),
    ],
)  # fmt: skip
def test_only_its_own_names_are_answered(standing: Served, host: str, status: int) -> None:
    assert standing.status(headers={"Host": host}) == status


@pytest.mark.parametrize("origin", ["http://evil.example", "http://localhost:2", "null", ""])
def test_only_its_own_pages_may_ask(standing: Served, origin: str) -> None:
    assert standing.status(headers={"Host": "localhost:1", "Origin": "http://localhost:1"}) == 200
    assert standing.status(headers={"Host": "localhost:1", "Origin": origin}) == 403


def test_an_address_that_others_reach_needs_the_token_once_and_the_cookie_from_then_on() -> None:
    with serving(host="0.0.0.0", token="opensesame") as served:
        for path in ("/", "/static/page.js", "/streams/talk/events", "/?token=opensesam", "/?token="):
            answer, body = served.get(path)
            assert (answer.status, "opensesame" in body) == (403, False)
            assert "set-cookie" not in answer.headers
        answer, _ = served.get("/streams.json?token=opensesame")
        assert answer.status == 200
        kept, *attributes = answer.headers["set-cookie"].split("; ")
        assert set(attributes) == {"Path=/", "HttpOnly", "SameSite=Strict"}
        for cookie, status in ((f"other=1; {kept}", 200), (kept[:-1], 403), (kept.replace("o", "ö"), 403)):
            assert served.status("/streams.json", {"Cookie": cookie}) == status
        served.hub.caption(caption("secret"))
        with follow(served.port, headers={"Cookie": kept}) as follower:
            follower.until("secret")
        # Any address of this machine will do as its name, but no name that somebody else may own.
        assert served.status("/streams.json", {"Cookie": kept, "Host": "192.168.1.7:80"}) == 200
        assert served.status("/streams.json", {"Cookie": kept, "Host": "evil.example"}) == 421


@pytest.mark.parametrize("token", ["short", "with space in it", "ümlautümlaut", "semi;colon;s", "x" * 200])
def test_a_token_that_is_none_is_said_so_without_repeating_it(token: str) -> None:
    with pytest.raises(UsageError, match="8 to 128") as error:
        WebServer(Hub([LANGUAGES]), port=0, token=token)
    assert token not in str(error.value)


def test_nothing_can_be_written(standing: Served) -> None:
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH"):
        answer, _ = standing.get("/streams.json", method=method)
        assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")


def test_there_are_no_more_viewers_than_there_may_be() -> None:
    with serving(max_clients=2) as served, follow(served.port) as first, follow(served.port) as second:
        assert first.read()
        assert second.read()
        answer, _ = served.get("/streams/talk/events")
        assert (answer.status, answer.headers["retry-after"]) == (503, "10")
        first.close()
        until(lambda: served.status("/streams/talk/events", method="HEAD") == 200)


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
    with standing.raw(request.encode()) as connection:
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 413")
    assert standing.status(headers={"Content-Length": "0"}) == 200


@pytest.mark.parametrize("request_", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\nGET"])
def test_a_connection_that_asks_for_nothing_is_closed(
    served: Served, request_: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Connection, "idle_timeout_s", 0.1)
    with served.raw(request_) as waiting, contextlib.suppress(ConnectionResetError):
        while waiting.recv(65536):
            pass
