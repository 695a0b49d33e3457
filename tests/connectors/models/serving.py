"""Servers of model files on 127.0.0.1, which can misbehave."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, ClassVar, Self


class Server:
    """What a server holds, how it misbehaves, and what it was asked for."""

    handler: ClassVar[type["Handler"]]
    #: The path of its address.
    place = ""

    def __init__(self) -> None:
        #: Content by path.
        self.files: dict[str, bytes] = {}
        #: How many answers break off in the middle.
        self.breaks = 0
        #: Method, path and range of each request.
        self.requests: list[tuple[str, str, str | None]] = []
        self.url = ""

    @contextmanager
    def serving(self) -> Iterator[Self]:
        """Serve on a free port."""
        handler = type("Handler", (self.handler,), {"own": self})
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        self.url = f"http://127.0.0.1:{server.server_port}{self.place}"
        try:
            yield self
        finally:
            self.release()
            server.shutdown()
            thread.join()
            server.server_close()

    def release(self) -> None:
        """Let requests that wait go on."""


class Handler(BaseHTTPRequestHandler):
    """Answers for a `Server`."""

    own: ClassVar[Any]
    protocol_version = "HTTP/1.1"

    def handle(self) -> None:
        with suppress(ConnectionError):  # the other side has had enough
            super().handle()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def noted(self) -> int:
        """Note the request; the first byte that it asks for."""
        asked = self.headers.get("Range")
        self.own.requests.append((self.command, self.path, asked))
        return int(asked.removeprefix("bytes=").partition("-")[0]) if asked else 0

    def send(self, part: bytes) -> None:
        """Send a body, or half of it if the server breaks off."""
        if self.own.breaks:
            self.own.breaks -= 1
            part, self.close_connection = part[: len(part) // 2], True
        self.wfile.write(part)
