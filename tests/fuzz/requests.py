"""What browsers send to the web server: whole connections as bytes, and what requests say of themselves."""

import asyncio
import contextlib
import re
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import Mock

from uvicorn import Config
from uvicorn.server import ServerState

from connectors.http.access import Access, Rejection
from connectors.http.background import quieten
from connectors.http.connection import Connection
from connectors.http.guard import MAX_HEADER_BYTES
from connectors.web.app import web_app
from connectors.web.hub import Hub
from connectors.web.messages import Languages
from connectors.web.protocol import StreamLog
from tests.connectors.web.browser import Page, caption
from tests.fuzz.correct import Subject

_LANGUAGES = Languages(source="en", target="de")
_STATUS = re.compile(rb"^HTTP/1\.1 ([0-9]{3}) ", re.MULTILINE)
_ANSWERS = {200, 304, 307, 400, 403, 404, 405, 413, 421, 431, 503}
_TOKEN = "open-sesame"
# Turns of the loop within which an answer is made.
_TURNS = 40


class _Served:
    """A server without a port, whose streams end as soon as everything of them was said."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.hub = Hub([_LANGUAGES], ["talk"], max_clients=20)
        self.hub.caption(caption("Guten Morgen", final=True))
        self.hub.end()
        self.hub.close()
        access = Access("localhost", 80, _TOKEN)
        app = web_app(self.hub, access)
        self.config = Config(
            app, http=Connection, ws="none", log_config=None, h11_max_incomplete_event_size=MAX_HEADER_BYTES
        )
        quieten()
        self.config.load()
        self.defects: list[dict[str, Any]] = []
        self.loop.set_exception_handler(lambda _loop, context: self.defects.append(context))

    def answer(self, data: bytes) -> bytes:
        """What a connection answers to the data, which comes in two pieces."""
        transport = Mock(asyncio.Transport, is_over=False)

        def end() -> None:
            transport.is_over = True

        # Where a connection writes to, without a system in between.
        transport.close.side_effect = transport.abort.side_effect = end
        transport.is_closing.side_effect = lambda: transport.is_over
        asyncio.set_event_loop(self.loop)
        connection = Connection(self.config, ServerState(), {}, self.loop)
        connection.connection_made(transport)
        for piece in (data[: len(data) // 2], data[len(data) // 2 :]):
            if piece and not transport.is_over:
                connection.data_received(piece)
            self._turn(transport)
        connection.connection_lost(None)
        self._turn(transport)
        assert not self.defects, self.defects
        assert self.hub.clients == 0
        return b"".join(bytes(call.args[0]) for call in transport.write.call_args_list)

    def _turn(self, transport: Mock) -> None:
        for _ in range(_TURNS):
            self.loop.run_until_complete(asyncio.sleep(0))
            if transport.is_over:
                return


@cache
def _served() -> _Served:
    return _Served()


def check_connection(data: bytes, _folder: Path) -> None:
    """Whatever comes is answered or cut, by none of the server's own defects, and others are served."""
    answer = _served().answer(data)
    statuses = {int(status) for status in _STATUS.findall(answer)}
    assert statuses <= _ANSWERS, statuses
    if b"sesame" not in data and b"%" not in data:
        assert b"Guten Morgen" not in answer
    assert b" 200 OK" in _served().answer(_request("/streams.json"))


def _request(path: str, *lines: str) -> bytes:
    said = (f"GET {path} HTTP/1.1", "Host: localhost", f"Cookie: surtitle-80={_TOKEN}", *lines, "", "")
    return "\r\n".join(said).encode()


def check_access(data: bytes, _folder: Path) -> None:
    """Headers of any kind let a request pass, or are told why not; an id of any kind gets the whole text."""
    text = data.decode("latin-1")
    host, origin, cookie, query, last_id, *_ = (*text.split("\n"), "", "", "", "", "")
    access = Access("0.0.0.0", 80, _TOKEN, ["captions.example"])
    given = {"host": host, "cookie": cookie, **({"origin": origin} if origin else {})}
    with contextlib.suppress(Rejection):
        access.check(given, query)
        assert "sesame" in cookie or "sesame" in query or "%" in query
    log = StreamLog("run", _LANGUAGES)
    log.caption(caption("Guten Morgen", 0, final=True))
    log.caption(caption("Guten Tag", 1))
    page = Page()
    page.take(log.arrival(last_id)[1])
    assert page.text in ([], ["Guten Tag"], ["Guten Morgen", "Guten Tag"])


_HEADERS = (
    b"GET ", b"HEAD ", b"POST ", b" HTTP/1.1\r\n", b" HTTP/1.0\r\n", b"\r\n\r\n", b"\r\n",
    b"Host: localhost\r\n",
    b"Host: evil.example\r\n", b"Origin: http://localhost\r\n", b"Last-Event-ID: ", b"run-2",
    b"-99999999999999999999",
    b"Cookie: ", b"surtitle-80=open-sesame", b"Content-Length: 1000000000000\r\n", b"Content-Length: -1\r\n",
    b"Transfer-Encoding: chunked\r\n", b"ffffffffffffffff\r\n", b"Expect: 100-continue\r\n",
    b"Upgrade: websocket\r\nConnection: upgrade\r\n", b"Connection: close\r\n", b"Range: bytes=0-0,-1\r\n",
    b"/streams/", b"talk", b"/events", b"/control", b"/static/", b"page.js", b"..%2f", b"%00", b"%ff",
    b"?token=",
    b"open-sesame", b"&", b"=", b"\0", b"\xff", b"\\" * 8000, b'"', b"x" * 20_000, b"[::1]", b":", b"@", b"http://",
)  # fmt: skip

CONNECTION = Subject(
    check_connection,
    (
        _request("/streams.json"),
        _request("/streams/talk/events", "Last-Event-ID: run-1", "Origin: http://localhost"),
        _request("/static/page.js", "If-None-Match: x") + _request("/"),
    ),
    _HEADERS,
    {},
)
ACCESS = Subject(
    check_access,
    (b"captions.example:80\nhttp://captions.example:80\nsurtitle-80=open-sesame\ntoken=open-sesame\nrun-1",),
    _HEADERS,
    {"a cookie of quoted backslashes": b'127.0.0.1\n\nsurtitle-80="' + b"\\" * 16_000 + b'"'},
    longest_s=0.3,
)
