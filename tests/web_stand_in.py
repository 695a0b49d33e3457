"""A server that speaks the caption protocol from a script: what the pages are tested against.

It serves the static files under the content security policy that they must live with. A test publishes
messages, cuts connections, and restarts the stream.
"""

import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Condition, Thread
from typing import Any
from urllib.parse import urlsplit

from typing_extensions import override

STATIC = Path(__file__).parent.parent / "connectors" / "web" / "static"
POLICY = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}

Message = dict[str, Any]


class CaptionServer:
    """One stream, ``talk``: its messages, and the connections that listen to them."""

    def __init__(self) -> None:
        self.changed = Condition()
        self.run = secrets.token_hex(4)
        self.messages: list[Message] = []
        self.segments: dict[int, Message] = {}
        self.state = "listening"
        self.language = {"source": "en", "target": "de", "target_dir": "ltr"}
        #: Counts up to make all connections end.
        self.cuts = 0
        #: While true, nobody is let in.
        self.is_refusing = False
        #: What each connection said it had last; None says nothing.
        self.last_ids: list[str | None] = []
        #: Connections that stand.
        self.listening = 0
        self.url = ""

    @property
    def page(self) -> str:
        """The address of the stream's caption page."""
        return f"{self.url}/streams/talk"

    def say(
        self, segment: int, text: str, *, settled: int = 0, source: str = "", final: bool = False
    ) -> None:
        """Bring a segment to this text, by the shortest update."""
        before = self.segments.get(segment, {"text": "", "source": ""})
        keep, source_keep = _common(before["text"], text), _common(before["source"], source)
        update = {"segment": segment, "settled": len(text) if final else settled, "final": final}
        times = {"start_s": 2.0 * segment, "end_s": 2.0 * segment + 1.5}
        self.segments[segment] = update | times | {"text": text, "source": source}
        new = {"keep": keep, "append": text[keep:], "source_keep": source_keep}
        self.publish({"type": "update", "source_append": source[source_keep:]} | update | times | new)

    def publish(self, message: Message) -> None:
        """Send any message."""
        with self.changed:
            self.messages.append(message)
            self.state = message.get("state", self.state)
            self.changed.notify_all()

    def cut(self) -> None:
        """End all connections; their clients come back."""
        with self.changed:
            self.cuts += 1
            self.changed.notify_all()

    def restart(self) -> None:
        """Forget everything, as a new run of the server."""
        with self.changed:
            self.run, self.messages, self.segments = secrets.token_hex(4), [], {}
            self.state = "listening"
            self.cuts += 1
            self.changed.notify_all()

    def _wait_for_news(self, sent: int, cuts: int) -> None:
        # Not forever: a browser that went away is only noticed by writing to it.
        self.changed.wait_for(lambda: len(self.messages) > sent or self.cuts != cuts, timeout=0.5)

    def events(self, last_id: str | None) -> Iterator[str]:
        """What one connection is sent; an empty text asks whether it still stands."""
        run, _, at = (last_id or "").partition("-")
        yield "retry: 40\n\n"
        with self.changed:
            cuts = self.cuts
            sent = int(at) if run == self.run else len(self.messages)
            if run != self.run:
                yield self._event(sent, self._snapshot())
        while True:
            with self.changed:
                self._wait_for_news(sent, cuts)
                if self.cuts != cuts:
                    return
                missed = list(enumerate(self.messages[sent:], start=sent + 1))
            yield from (self._event(number, message) for number, message in missed)
            yield ""
            sent += len(missed)

    def _snapshot(self) -> Message:
        told = {"segments": list(self.segments.values()), "language": self.language}
        return {"type": "snapshot", "state": self.state} | told

    def _event(self, number: int, message: Message) -> str:
        return f"id: {self.run}-{number}\ndata: {json.dumps(message)}\n\n"


def _common(one: str, other: str) -> int:
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    captions: CaptionServer

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        pages = {"/": "index.html", "/streams/talk": "page.html", "/streams/talk/control": "control.html"}
        if path == "/streams/talk/events":
            self._events()
        elif path == "/streams.json":
            count = len(self.captions.segments)
            stream = {
                "name": "talk",
                "state": "speech",
                "segments": count,
                "clients": self.captions.listening,
            }
            self._answer(json.dumps([stream]).encode(), "application/json")
        elif path in pages or (path.startswith("/static/") and (STATIC / Path(path).name).is_file()):
            file = STATIC / pages.get(path, Path(path).name)
            self._answer(file.read_bytes(), _TYPES[file.suffix])
        else:
            self.send_error(HTTPStatus.NOT_FOUND)

    def _answer(self, body: bytes, kind: str) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", POLICY)
        self.end_headers()
        self.wfile.write(body)

    def _events(self) -> None:
        captions = self.captions
        captions.last_ids.append(self.headers["Last-Event-ID"])
        if captions.is_refusing:
            self.send_error(HTTPStatus.SERVICE_UNAVAILABLE)
            return
        self.close_connection = True
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        captions.listening += 1
        try:
            for event in captions.events(self.headers["Last-Event-ID"]):
                self.wfile.write((event or ": still here\n\n").encode())
                self.wfile.flush()
        except OSError:
            pass  # the browser went away
        finally:
            captions.listening -= 1

    @override
    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def caption_server() -> Iterator[CaptionServer]:
    """A server on a free port of this machine."""
    captions = CaptionServer()
    handler = type("Handler", (_Handler,), {"captions": captions})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    captions.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield captions
    finally:
        captions.cut()
        server.shutdown()
        server.server_close()
        thread.join()
