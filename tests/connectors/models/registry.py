"""A registry of Firefox's models."""

import gzip
import hashlib
import json
from pathlib import Path
from random import Random
from threading import Event
from typing import Any

import pytest

from connectors.http import download
from connectors.models import firefox
from tests.connectors.models.serving import Handler, Server

#: Of the files; what is in them does not matter here.
MODEL, VOCABULARY = Random(0).randbytes(2000), b"vocabulary"


class _Handler(Handler):
    def do_GET(self) -> None:  # noqa: N802 - the library calls it so
        registry, start = self.own, self.noted()
        registry.users.append(self.headers["Authorization"])
        if registry.hold is not None:
            registry.hold.wait(60)
        content = registry.files.get(self.path[1:])
        if self.path == registry.place:
            described = {"baseUrl": f"http://{self.headers['Host']}", "models": registry.models}
            content = json.dumps(described).encode() if registry.instead is None else registry.instead
        self.send_response(404 if content is None else 206 if "Range" in self.headers else 200)
        part = (content or b"")[start:]
        self.send_header("Content-Length", str(len(part)))
        self.end_headers()
        if self.path.endswith(".bin.gz"):
            self.send(part)
        else:
            self.wfile.write(part)


class Registry(Server):
    """Holds packed files by path, and what it says of them."""

    handler = _Handler
    place = "/db/models.json"

    def __init__(self) -> None:
        super().__init__()
        self.models: dict[str, Any] = {}
        #: Sent instead of the registry itself.
        self.instead: bytes | None = None
        #: No request is answered before this is set.
        self.hold: Event | None = None
        #: Who asked, by the header.
        self.users: list[str | None] = []

    def release(self) -> None:
        if self.hold is not None:
            self.hold.set()

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


def connect(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the network be asked, and use a cache of the test's own, without the models of the package."""
    monkeypatch.delenv(download.OFFLINE_VARIABLE)
    monkeypatch.setattr(firefox, "user_cache_path", lambda name: folder / name)
    monkeypatch.setattr(firefox, "_PACKAGE", "not_installed")
