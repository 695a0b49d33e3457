"""Parts of a prompt are tokenised as they are: no mark is read into speech, and no space is put before it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from operators.models.llama_model import LlamaModel
from tests.tiny_gguf import USER_DEFINED, byte_pairs, pieces, write_model


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., LlamaModel]:
    return lambda *args, **header: LlamaModel(write_model(tmp_path / "tiny.gguf", *args, **header))


def texts(model: LlamaModel, tokens: list[int]) -> list[str]:
    return [model.piece(token).decode() for token in tokens]


def test_words_that_were_added_to_a_vocabulary_stay_whole(load: Callable[..., LlamaModel]) -> None:
    model = load(byte_pairs({"surtitle": USER_DEFINED}))
    assert texts(model, model.tokenize("a surtitle")) == ["a", " ", "surtitle"]


def test_no_space_is_put_before_a_part_of_a_prompt(load: Callable[..., LlamaModel]) -> None:
    model = load(pieces({}))
    assert texts(model, model.tokenize("the")) == ["th", "e"]
    assert texts(model, model.tokenize(" the")) == [" the"]
    assert texts(model, model.tokenize("\nthe", special=True)) == ["\n", "th", "e"]


def test_tokens_of_another_vocabulary_spell_nothing(load: Callable[..., LlamaModel]) -> None:
    model = load(pieces({}))
    assert [model.piece(token) for token in (-1, model.vocabulary_size, 2**31 - 1)] == [b"", b"", b""]
