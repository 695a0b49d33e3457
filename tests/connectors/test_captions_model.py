"""The model for captions is put together once, from the base model and the files that come along."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from connectors import captions_model, model_files
from connectors.captions_model import ADAPTER, VOCABULARY
from connectors.captions_model import captions_model as made_model
from connectors.gguf_file import read_gguf, write_gguf
from connectors.model_files import resolve_model
from connectors.vocabulary_list import list_file
from operators.errors import InputError, OutputError
from tests.adapters import noise, write_adapter
from tests.tiny_gguf import pieces, write_model

KEPT = np.array([*range(270), *range(300, 350)], np.int32)


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(captions_model, "user_cache_path", lambda name: tmp_path / "cache" / name)
    return write_model(tmp_path / "base.gguf", pieces({}), general_license="gemma", general_name="Tiny")


@pytest.fixture
def folder(base: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "captions"
    folder.mkdir()
    write_adapter(folder / ADAPTER, noise())
    file = read_gguf(base)
    words = list_file(file, len(pieces({}).texts), KEPT)
    write_gguf(folder / VOCABULARY, words.entries, words.tensors)
    return folder


def test_it_appears_in_the_cache_and_says_where_it_comes_from(base: Path, folder: Path) -> None:
    seen: list[tuple[str, float | None]] = []
    path = made_model(base, folder, lambda what, part: seen.append((what, part)))
    assert list(path.parent.iterdir()) == [path]
    file = read_gguf(path)
    assert file.text("general.license") == "gemma"
    assert file.text("surtitle.base.name") == "Tiny"
    assert file.text("surtitle.notice").startswith(
        "Changed by surtitle: an adapter added to the weights, tokens left"
    )
    assert file.text("surtitle.notice").endswith("Gemma Terms of Use found at ai.google.dev/gemma/terms")
    assert len(file.text("surtitle.base.sha256")) == len(file.text("surtitle.adapter.sha256")) == 64
    assert '"target_label":"Deutsch:"' in file.text("surtitle.templates")
    assert file.tensors["token_embd.weight"].shape == (32, len(KEPT))
    assert seen[-1] == ("writing the model for captions", 1.0)


def test_the_second_start_has_nothing_to_do(base: Path, folder: Path) -> None:
    path = made_model(base, folder, lambda _what, _part: None)
    assert made_model(base, folder, lambda *_: pytest.fail("there is nothing to do")) == path


def test_another_adapter_makes_another_file(base: Path, folder: Path) -> None:
    first = made_model(base, folder, lambda _what, _part: None)
    write_adapter(folder / ADAPTER, noise(seed=2))
    second = made_model(base, folder, lambda _what, _part: None)
    assert first != second
    assert first.read_bytes() != second.read_bytes()


def test_parts_that_do_not_fit_are_refused(base: Path, folder: Path, tmp_path: Path) -> None:
    other = write_model(tmp_path / "other.gguf", pieces({"more": 1}))
    with pytest.raises(InputError, match="these tokens are of another vocabulary"):
        made_model(other, folder, lambda _what, _part: None)
    write_adapter(folder / ADAPTER, noise(width=64))
    with pytest.raises(InputError, match=r"adds 64×64 to blk\.0\.attn_q\.weight, of .* has 32×32"):
        made_model(base, folder, lambda _what, _part: None)
    shutil.copy(base, folder / VOCABULARY)
    write_adapter(folder / ADAPTER, noise())
    with pytest.raises(InputError, match="there is no list of tokens in it"):
        made_model(base, folder, lambda _what, _part: None)


def test_a_cache_that_cannot_be_made_is_named(
    base: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(captions_model, "user_cache_path", lambda name: tmp_path / "file" / name)
    with pytest.raises(OutputError, match="set XDG_CACHE_HOME"):
        made_model(base, folder, lambda _what, _part: None)


def test_without_its_files_it_is_refused(base: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="choose --model base"):
        made_model(base, tmp_path, lambda _what, _part: None)


def test_a_name_of_ours_is_no_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(model_files._OURS, "captions", lambda _progress: Path("made"))
    assert resolve_model("captions") == Path("made")
    assert resolve_model("base") == resolve_model("default")
