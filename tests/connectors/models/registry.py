"""A registry of Firefox's models on 127.0.0.1, which can misbehave."""

import gzip
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from threading import Event, Thread
from typing import Any, ClassVar

import pytest

from connectors.models import firefox

#: Of the files; what is in them does not matter here.
MODEL, VOCABULARY = Random(0).randbytes(2000), b"vocabulary"


class Registry:
    """What the registry holds, how it misbehaves, and what it was asked for."""

    def __init__(self) -> None:
        self.models: dict[str, Any] = {}
        #: Content by path, as it is sent.
        self.files: dict[str, bytes] = {}
        #: Sent instead of the registry itself.
        self.instead: bytes | None = None
        #: How many answers break off in the middle.
        self.breaks = 0
        #: No request is answered before this is set.
        self.hold: Event | None = None
        #: Path and range of each request.
        self.requests: list[tuple[str, str | None]] = []
        #: Who asked, by the header.
        self.users: list[str | None] = []
        self.url = ""

    def add(self, pair: str, architecture: str = "tiny", status: str = "Release", *, one: bool = True) -> Any:
        """Add an entry for a pair, with one vocabulary or two; it can be changed."""
        own = pair.replace("-", "")
        kinds = ("vocab",) if one else ("srcVocab", "trgVocab")
        names = {"model": f"model.{own}.intgemm.alphas.bin", "lexicalShortlist": f"lex.50.50.{own}.s2t.bin"}
        names |= {kind: f"{kind.lower()}.{own}.spm" for kind in kinds}
        content = architecture.encode() + MODEL
        paths = {kind: f"models/{pair}/{architecture}/{name}.gz" for kind, name in names.items()}
        for kind, path in paths.items():
            self.files[path] = gzip.compress(content if kind == "model" else VOCABULARY)
        entry = {
            "architecture": architecture,
            "releaseStatus": status,
            "files": {kind: {"path": path} for kind, path in paths.items()},
        }
        entry["files"]["model"] |= {  # type: ignore[index]
            "uncompressedSize": len(content),
            "uncompressedHash": hashlib.sha256(content).hexdigest(),
        }
        self.models.setdefault(pair, []).append(entry)
        return entry

    @contextmanager
    def serving(self) -> Iterator["Registry"]:
        """Serve on a free port."""
        handler = type("Handler", (_Handler,), {"registry": self})
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        self.url = f"http://127.0.0.1:{server.server_port}/db/models.json"
        try:
            yield self
        finally:
            if self.hold is not None:
                self.hold.set()
            server.shutdown()
            thread.join()
            server.server_close()


class _Handler(BaseHTTPRequestHandler):
    registry: ClassVar[Registry]
    protocol_version = "HTTP/1.1"

    def handle(self) -> None:
        with suppress(ConnectionError):  # the other side has had enough
            super().handle()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        registry, asked = self.registry, self.headers.get("Range")
        registry.requests.append((self.path, asked))
        registry.users.append(self.headers["Authorization"])
        if registry.hold is not None:
            registry.hold.wait(60)
        described = json.dumps(
            {"baseUrl": registry.url.removesuffix("/db/models.json"), "models": registry.models}
        )
        content = registry.files.get(self.path[1:])
        if self.path == "/db/models.json":
            content = described.encode() if registry.instead is None else registry.instead
        start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked else 0
        self.send_response(404 if content is None else 206 if asked else 200)
        part = (content or b"")[start:]
        self.send_header("Content-Length", str(len(part)))
        self.end_headers()
        if registry.breaks and self.path.endswith(".bin.gz"):
            registry.breaks -= 1
            part, self.close_connection = part[: len(part) // 2], True
        self.wfile.write(part)


def connect(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the network be asked, and use a cache of the test's own, without the models of the package."""
    monkeypatch.delenv(firefox.OFFLINE_VARIABLE)
    monkeypatch.setattr(firefox, "user_cache_path", lambda name: folder / name)
    monkeypatch.setattr(firefox, "_PACKAGE", "not_installed")
