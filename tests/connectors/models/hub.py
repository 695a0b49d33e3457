"""A hub on 127.0.0.1 that speaks what fetching one file takes, and can misbehave."""

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import ClassVar

import pytest
from huggingface_hub import constants

from connectors.models import opus

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub:
    """What the hub holds, how it misbehaves, and what it was asked for."""

    def __init__(self) -> None:
        #: Content of ``OWNER/REPO/FILE``.
        self.files: dict[str, bytes] = {}
        self.gated: set[str] = set()
        #: How many answers break off in the middle.
        self.breaks = 0
        #: Send the first half of the next answer, and the rest when this is set.
        self.hold: Event | None = None
        #: Answer with other bytes than the checksum of a large file is of.
        self.corrupt = False
        self.url = ""
        #: Method, path and range of each request.
        self.requests: list[tuple[str, str, str | None]] = []

    @contextmanager
    def serving(self) -> Iterator["Hub"]:
        """Serve on a free port."""
        handler = type("Handler", (_Handler,), {"hub": self})
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        self.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield self
        finally:
            server.shutdown()
            thread.join()
            server.server_close()


class _Handler(BaseHTTPRequestHandler):
    hub: ClassVar[Hub]
    protocol_version = "HTTP/1.1"

    def handle(self) -> None:
        with suppress(ConnectionError):  # the other side has had enough
            super().handle()

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def _answer(self, *, body: bool) -> None:
        hub, asked = self.hub, self.headers.get("Range")
        hub.requests.append((self.command, self.path, asked))
        repo, _, file = re.sub(f"/resolve/(main|{COMMIT})/", "|", self.path[1:]).partition("|")
        if repo in hub.gated:
            return self._refuse(401, "GatedRepo")
        if not any(name.startswith(f"{repo}/") for name in hub.files):
            return self._refuse(401, "RepoNotFound")
        content = hub.files.get(f"{repo}/{file}")
        if content is None:
            return self._refuse(404, "EntryNotFound")
        start = int(asked.removeprefix("bytes=").partition("-")[0]) if asked else 0
        part = content[start:]
        self.send_response(206 if asked else 200)
        self.send_header("X-Repo-Commit", COMMIT)
        # Small files are stored in git itself, under its checksum.
        is_large = not file.endswith((".json", ".spm"))
        if is_large:
            self.send_header("ETag", '"of the redirection, not of the content"')
            self.send_header("X-Linked-Etag", f'"{hashlib.sha256(content).hexdigest()}"')
            self.send_header("X-Linked-Size", str(len(content)))
        else:
            self.send_header("ETag", f'"{hashlib.sha1(content, usedforsecurity=False).hexdigest()}"')
        self.send_header("Content-Length", str(len(part)))
        if asked:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.end_headers()
        if not body:
            return None
        if hub.breaks:
            hub.breaks -= 1
            self.wfile.write(part[: len(part) // 2])
            self.close_connection = True
            return None
        if hold := hub.hold:
            hub.hold = None
            self.wfile.write(part[: len(part) // 2])
            self.wfile.flush()
            hold.wait(60)
            part = part[len(part) // 2 :]
        self.wfile.write(bytes(len(part)) if hub.corrupt and is_large else part)
        return None

    def _refuse(self, status: int, code: str) -> None:
        self.send_response(status)
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("X-Error-Code", code)
        self.send_header("Content-Length", "0")
        self.end_headers()


def connect(hub: Hub, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the client ask the hub of the test: it read the environment when it was imported."""
    ask(hub.url, monkeypatch)
    monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 64)  # it keeps whole chunks, of 10 MB
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(folder / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_IMPLICIT_TOKEN", True)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr("time.sleep", lambda _seconds: None)  # it waits a second before it tries again
    monkeypatch.setattr(opus, "user_cache_path", lambda name: folder / "notes" / name)


def ask(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the client another address."""
    monkeypatch.setattr(constants, "ENDPOINT", url)
    monkeypatch.setattr(
        constants, "HUGGINGFACE_CO_URL_TEMPLATE", url + "/{repo_id}/resolve/{revision}/{filename}"
    )
