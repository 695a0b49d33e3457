"""The model for captions is put together once, from the base model and the files that come along."""

import hashlib
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from connectors.models import assembly, catalog
from connectors.models.assembly import captions_model as made_model
from connectors.models.catalog import ADAPTER, VOCABULARY
from connectors.models.gguf import count_of, encode, read_gguf, write_gguf
from connectors.models.resolve import language_model, models_for, resolve_model
from operators.errors import InputError, OutputError, UsageError
from operators.languages import Direction
from tests.adapters import noise, write_adapter
from tests.tiny_gguf import pieces, write_model

KEPT = np.array([*range(270), *range(300, 350)], np.int32)


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(assembly, "user_cache_path", lambda name: tmp_path / "cache" / name)
    return write_model(tmp_path / "base.gguf", pieces({}), general_license="gemma", general_name="Tiny")


@pytest.fixture
def folder(base: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "captions" / "en-de"
    folder.mkdir(parents=True)
    write_adapter(folder / ADAPTER, noise())
    tokens = read_gguf(base).entries["tokenizer.ggml.tokens"]
    bits = np.isin(np.arange(count_of(tokens)), KEPT)
    sha256 = hashlib.sha256(tokens.data).hexdigest()
    about: dict[str, Any] = {"size": len(bits), "sha256": sha256, "kept": np.packbits(bits)}
    listed = {f"surtitle.vocabulary.{name}": encode(value) for name, value in about.items()}
    write_gguf(folder / VOCABULARY, listed, {})
    return folder


def test_it_appears_in_the_cache_and_says_where_it_comes_from(base: Path, folder: Path) -> None:
    seen: list[tuple[str, float | None]] = []
    path = made_model(base, folder, lambda what, part: seen.append((what, part)))
    assert list(path.parent.glob("[!.]*")) == [path]
    assert path.name.startswith("captions-en-de-")
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
    assert seen[-1] == ("writing the captions model", 1.0)


def test_the_second_start_has_nothing_to_do(base: Path, folder: Path) -> None:
    path = made_model(base, folder, lambda _what, _part: None)
    assert made_model(base, folder, lambda *_: pytest.fail("there is nothing to do")) == path


@pytest.mark.parametrize("left", [0, -5000])
def test_a_cached_file_that_was_damaged_is_made_anew(base: Path, folder: Path, left: int) -> None:
    path = made_model(base, folder, lambda _what, _part: None)
    whole = path.read_bytes()
    path.write_bytes(whole[:left])
    assert made_model(base, folder, lambda _what, _part: None) == path
    assert path.read_bytes() == whole


def test_parts_that_do_not_fit_are_refused(base: Path, folder: Path, tmp_path: Path) -> None:
    other = write_model(tmp_path / "other.gguf", pieces({"more": 1}))
    with pytest.raises(InputError, match="this is no list of tokens of"):
        made_model(other, folder, lambda _what, _part: None)
    write_adapter(folder / ADAPTER, noise(width=64))
    with pytest.raises(InputError, match=r"which has no blk\.0\.attn_q\.weight of shape 64×64"):
        made_model(base, folder, lambda _what, _part: None)
    shutil.copy(base, folder / VOCABULARY)
    write_adapter(folder / ADAPTER, noise())
    with pytest.raises(InputError, match="this is no list of tokens of"):
        made_model(base, folder, lambda _what, _part: None)


def test_a_cache_that_cannot_be_made_is_named(
    base: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(assembly, "user_cache_path", lambda name: tmp_path / "file" / name)
    with pytest.raises(OutputError, match="set XDG_CACHE_HOME"):
        made_model(base, folder, lambda _what, _part: None)


EN_DE, EN_FR = Direction.of("English", "German"), Direction.of("en", "fr")


@pytest.fixture
def ours(base: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of all directions, of which there is one, beside a base model."""
    monkeypatch.setattr(catalog, "captions_folder", lambda: folder.parent)
    monkeypatch.setattr(assembly, "base_model_path", lambda _progress: base)
    return folder.parent


def test_a_direction_that_none_was_made_for_is_refused_with_those_that_there_are(ours: Path) -> None:
    shutil.copytree(ours / "en-de", ours / "ja-en")
    with pytest.raises(
        UsageError,
        match=r"no captions model for English to French, only for English to German, Japanese .*; .*base",
    ):
        resolve_model("captions", EN_FR)
    with pytest.raises(UsageError, match="English to German, Japanese to English, and no direction is given"):
        resolve_model("captions")


def test_without_any_files_it_is_refused(ours: Path) -> None:
    shutil.rmtree(ours)
    with pytest.raises(InputError, match="choose --model base"):
        resolve_model("captions", EN_DE)


def test_default_is_the_model_for_captions_where_there_is_one(ours: Path, base: Path) -> None:
    assert ours.is_dir()
    made = resolve_model("captions", EN_DE)
    assert resolve_model("default", EN_DE) == made
    assert resolve_model("default", EN_FR) == resolve_model("default") == base
    assert resolve_model("base", EN_DE) == base


def test_each_captions_model_is_for_one_direction_and_any_other_model_for_the_rest(ours: Path) -> None:
    en_es, en_it = (Direction.of("English", to) for to in ("Spanish", "Italian"))
    all_of_them = (EN_FR, EN_DE, en_it, en_es)
    shutil.copytree(ours / "en-de", ours / "en-es")
    assert models_for((language_model("default", one), one) for one in all_of_them) == [
        ("base", [EN_FR, en_it]),
        ("captions", [EN_DE]),
        ("captions", [en_es]),
    ]
    for name in ("base", "model.gguf"):
        assert models_for((name, one) for one in all_of_them) == [(name, list(all_of_them))]
