"""Downloads that break off, are forbidden, or are not what was meant."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from connectors.http import download as module
from connectors.http.download import download
from operators.errors import InputError
from operators.notifications import silent
from tests.connectors.models.registry import Registry

CONTENT = bytes(range(256)) * 4
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    monkeypatch.setattr(module, "BLOCK_BYTES", 16)
    monkeypatch.delenv("SURTITLE_OFFLINE")
    server = Registry()
    server.files["data.bin.gz"] = CONTENT
    with server.serving():
        server.url = server.url.replace(server.place, "/data.bin.gz")
        yield server


def test_a_download_goes_on_where_the_connection_broke(server: Registry, tmp_path: Path) -> None:
    server.breaks = 3
    target = tmp_path / "folder" / "data"
    download(server.url, target, silent, sha256=SHA256, max_bytes=2000)
    assert target.read_bytes() == CONTENT
    assert [asked is None for _, _, asked in server.requests] == [True, False, False, False]
    assert [one.name for one in target.parent.iterdir()] == ["data"]


def test_what_is_not_the_file_that_was_meant_is_not_kept(server: Registry, tmp_path: Path) -> None:
    for sha256, limit, said in (
        ("0" * 64, 2000, f"sha256 {SHA256} instead of 0000"),
        (None, 100, "sends more than"),
    ):
        with pytest.raises(InputError, match=said) as refused:
            download(server.url, tmp_path / "data", silent, sha256=sha256, max_bytes=limit)
        assert f"get {server.url} where there is a network" in str(refused.value)
        assert list(tmp_path.iterdir()) == []
