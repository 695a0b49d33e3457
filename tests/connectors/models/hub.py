"""A hub that speaks what fetching one file takes."""

import hashlib
import re
from pathlib import Path

import pytest
from huggingface_hub import constants

from connectors.models import opus
from tests.connectors.models.serving import Handler, Server

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class _Handler(Handler):
    def do_HEAD(self) -> None:  # noqa: N802 - the library calls it so
        self._answer(body=False)

    def do_GET(self) -> None:  # noqa: N802 - the library calls it so
        self._answer(body=True)

    def _answer(self, *, body: bool) -> None:
        hub, start = self.own, self.noted()
        repo, _, file = re.sub(f"/resolve/(main|{COMMIT})/", "|", self.path[1:]).partition("|")
        if repo in hub.gated:
            return self._refuse(401, "GatedRepo")
        if not any(name.startswith(f"{repo}/") for name in hub.files):
            return self._refuse(401, "RepoNotFound")
        content = hub.files.get(f"{repo}/{file}")
        if content is None:
            return self._refuse(404, "EntryNotFound")
        part = content[start:]
        self.send_response(206 if "Range" in self.headers else 200)
        self.send_header("X-Repo-Commit", COMMIT)
        # Small files are stored in git itself, under its checksum.
        if not file.endswith((".json", ".spm")):
            self.send_header("ETag", '"of the redirection, not of the content"')
            self.send_header("X-Linked-Etag", f'"{hashlib.sha256(content).hexdigest()}"')
            self.send_header("X-Linked-Size", str(len(content)))
        else:
            self.send_header("ETag", f'"{hashlib.sha1(content, usedforsecurity=False).hexdigest()}"')
        self.send_header("Content-Length", str(len(part)))
        if "Range" in self.headers:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.end_headers()
        if body:
            self.send(part)
        return None

    def _refuse(self, status: int, code: str) -> None:
        self.send_response(status)
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("X-Error-Code", code)
        self.send_header("Content-Length", "0")
        self.end_headers()


class Hub(Server):
    """Holds files by ``OWNER/REPO/FILE``."""

    handler = _Handler

    def __init__(self) -> None:
        super().__init__()
        self.gated: set[str] = set()


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
