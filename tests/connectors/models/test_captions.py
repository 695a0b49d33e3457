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
from operators.errors import InputError, UsageError
from operators.languages import Direction
from operators.notifications import silent
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
    notice = file.text("surtitle.notice")
    assert notice.startswith("Changed by surtitle: an adapter added to the weights, tokens left")
    assert notice.endswith("Gemma Terms of Use found at ai.google.dev/gemma/terms")
    assert len(file.text("surtitle.base.sha256")) == len(file.text("surtitle.adapter.sha256")) == 64
    assert '"target_label":"Deutsch:"' in file.text("surtitle.templates")
    assert file.tensors["token_embd.weight"].shape == (32, len(KEPT))
    assert seen[-1] == ("writing the captions model", 1.0)


@pytest.mark.parametrize("left", [0, -5000])
def test_it_is_made_once_and_anew_if_it_was_damaged(base: Path, folder: Path, left: int) -> None:
    path = made_model(base, folder, silent)
    assert made_model(base, folder, lambda *_: pytest.fail("there is nothing to do")) == path
    whole = path.read_bytes()
    path.write_bytes(whole[:left])
    assert made_model(base, folder, silent) == path
    assert path.read_bytes() == whole


def test_parts_that_do_not_fit_are_refused(base: Path, folder: Path, tmp_path: Path) -> None:
    other = write_model(tmp_path / "other.gguf", pieces({"more": 1}))
    with pytest.raises(InputError, match="this is not a list of tokens for"):
        made_model(other, folder, silent)
    write_adapter(folder / ADAPTER, noise(width=64))
    with pytest.raises(InputError, match=r"which has no blk\.0\.attn_q\.weight of shape 64×64"):
        made_model(base, folder, silent)
    shutil.copy(base, folder / VOCABULARY)
    write_adapter(folder / ADAPTER, noise())
    with pytest.raises(InputError, match="this is not a list of tokens for"):
        made_model(base, folder, silent)


EN_DE, EN_FR = Direction.of("English", "German"), Direction.of("en", "fr")


@pytest.fixture
def ours(base: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of all directions, of which there is one, beside a base model."""
    monkeypatch.setattr(catalog, "captions_folder", lambda: folder.parent)
    monkeypatch.setattr(assembly, "base_model_path", lambda _progress: base)
    return folder.parent


def test_a_direction_that_none_was_made_for_is_refused_with_those_that_there_are(ours: Path) -> None:
    shutil.copytree(ours / "en-de", ours / "ja-en")
    known = "English to German, Japanese to English"
    with pytest.raises(UsageError, match=f"no captions model for English to French, only for {known}"):
        resolve_model("captions", EN_FR)
    with pytest.raises(UsageError, match=f"{known}, and no direction is given"):
        resolve_model("captions")
    shutil.rmtree(ours)
    with pytest.raises(InputError, match="choose --model base"):
        resolve_model("captions", EN_DE)


@pytest.mark.usefixtures("ours")
def test_default_is_the_model_for_captions_where_there_is_one(base: Path) -> None:
    made = resolve_model("captions", EN_DE)
    assert resolve_model("default", EN_DE) == made
    assert resolve_model("default", EN_FR) == resolve_model("default") == base
    assert resolve_model("base", EN_DE) == base


def test_each_captions_model_is_for_one_direction_and_any_other_model_for_the_rest(ours: Path) -> None:
    en_es, en_it = (Direction.of("en", to) for to in ("es", "it"))
    all_of_them = [EN_FR, EN_DE, en_it, en_es]
    shutil.copytree(ours / "en-de", ours / "en-es")
    assert models_for((language_model("default", one), one) for one in all_of_them) == [
        ("base", [EN_FR, en_it]),
        ("captions", [EN_DE]),
        ("captions", [en_es]),
    ]
    assert models_for(("base", one) for one in all_of_them) == [("base", all_of_them)]
