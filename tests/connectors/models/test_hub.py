"""Models by their name on the hub: the real client, against a hub on this machine."""

import errno
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import huggingface_hub
import pytest
from huggingface_hub import constants

from connectors.models.hub import fetch_model
from connectors.models.resolve import resolve_model
from operators.errors import InputError, OutputError, UsageError
from operators.notifications import silent
from tests.connectors.models.hub import Hub, ask, connect
from tests.tiny_gguf import byte_pairs, write_model

NAME = "hub:owner/repo:folder/tiny-Q4.gguf"


@pytest.fixture
def content(tmp_path: Path) -> bytes:
    return write_model(tmp_path / "served.gguf", byte_pairs({})).read_bytes()


@pytest.fixture
def hub(content: bytes) -> Iterator[Hub]:
    hub = Hub()
    hub.files["owner/repo/folder/tiny-Q4.gguf"] = content
    with hub.serving():
        yield hub


@pytest.fixture(autouse=True)
def cache(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    connect(hub, tmp_path, monkeypatch)
    monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 1 << 14)
    return tmp_path / "hub"


def gets(hub: Hub) -> list[str | None]:
    return [asked for method, path, asked in hub.requests if method == "GET" and "/resolve/" in path]


def complaint(name: str = NAME) -> str:
    with pytest.raises(InputError) as caught:
        resolve_model(name)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_model_is_fetched_once_with_progress(hub: Hub, content: bytes) -> None:
    seen: list[tuple[str, float | None]] = []
    path = resolve_model(NAME, progress=lambda what, fraction: seen.append((what, fraction)))
    assert path.read_bytes() == content
    assert path.name == "tiny-Q4.gguf"
    assert seen[-1] == ("fetching folder/tiny-Q4.gguf of owner/repo", 1.0)
    assert resolve_model(NAME, progress=lambda *_: pytest.fail("there is nothing to do")) == path
    assert gets(hub) == [None], hub.requests


def test_a_connection_that_breaks_off_for_good_is_one_sentence_and_what_came_is_kept(
    hub: Hub, cache: Path, content: bytes
) -> None:
    hub.breaks = 1000
    assert "the download of folder/tiny-Q4.gguf was interrupted" in complaint()
    assert not list(cache.rglob("*.gguf"))
    (unfinished,) = cache.rglob("*.surtitle.incomplete")
    size = unfinished.stat().st_size
    assert 0 < size < len(content)
    hub.breaks = 0
    assert resolve_model(NAME).read_bytes() == content
    assert gets(hub)[-1] == f"bytes={size}-"
    assert not list(cache.rglob("*.incomplete"))


def test_an_unfinished_file_that_is_damaged_is_fetched_anew(hub: Hub, cache: Path, content: bytes) -> None:
    hub.breaks = 1000
    complaint()
    (unfinished,) = cache.rglob("*.surtitle.incomplete")
    unfinished.write_bytes(bytes(unfinished.stat().st_size))
    hub.breaks = 0
    assert "was damaged in transfer" in complaint()
    assert not [path for path in cache.rglob("*") if path.is_file() and path.stat().st_size == len(content)]
    assert resolve_model(NAME).read_bytes() == content
    unfinished.write_bytes(content * 2)  # longer than the file is
    for path in (*cache.rglob("*.gguf"), *cache.rglob(hashlib.sha256(content).hexdigest())):
        path.unlink()
    assert resolve_model(NAME).read_bytes() == content


def test_what_the_hub_does_not_have_or_does_not_give_is_said(hub: Hub) -> None:
    assert "the hub has no other.gguf of owner/repo" in complaint("hub:owner/repo:other.gguf")
    assert "the hub has no a.gguf of owner/none" in complaint("hub:owner/none:a.gguf")
    hub.gated.add("owner/repo")
    assert "owner/repo requires you to accept its licence" in complaint()


def test_without_a_hub_the_cache_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    path = resolve_model(NAME)
    ask("http://127.0.0.1:9", monkeypatch)
    assert resolve_model(NAME) == path
    assert "the hub cannot be reached" in complaint("hub:owner/repo:b.gguf")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert resolve_model(NAME) == path
    assert "HF_HUB_OFFLINE forbids" in complaint("hub:owner/repo:other.gguf")


@pytest.mark.parametrize("name", ["", "o/r", "r:a.gguf", "o/r:a.bin", "o/r:../a.gguf", "a/b/c:d.gguf"])
def test_a_name_of_another_form_is_a_usage_error(name: str, hub: Hub) -> None:
    with pytest.raises(UsageError, match=r"hub:OWNER/REPO:FILE\.gguf"):
        resolve_model(f"hub:{name}")
    assert hub.requests == []


def test_a_full_disk_is_an_output_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_args: object, **_options: object) -> str:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", full)
    with pytest.raises(OutputError, match=r"No space left on device: free space, or set HF_HOME"):
        resolve_model(NAME)


def test_a_named_model_whose_file_was_replaced_is_refused(content: bytes) -> None:
    sha256 = hashlib.sha256(content).hexdigest()
    assert fetch_model(NAME, silent, sha256)
    with pytest.raises(InputError, match=rf"has changed .* \(sha256 {sha256}\).* --model hub:owner/repo"):
        fetch_model(NAME, silent, "0" * 64)
