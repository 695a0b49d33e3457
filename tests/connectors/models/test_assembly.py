"""A model with fewer tokens tokenises the texts as before, and gives the tokens that stay the same logits."""

from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from connectors.models.assembly import prune
from connectors.models.gguf import GgufFile, count_of, encode, read_gguf, write_gguf
from operators.errors import InputError
from operators.models.llama_model import LlamaModel
from tests.adapters import logits
from tests.tiny_gguf import CONTROL, pieces, write_model

#: Whatever spells any text, and the words.
KEPT = np.array([*range(300), *range(310, 350)], np.intp)


def pruned(path: Path, kept: NDArray[np.intp] = KEPT) -> Path:
    """The model with these tokens."""
    small = prune(read_gguf(path), kept, path)
    target = path.with_name("small.gguf")
    write_gguf(target, small.entries, small.tensors)
    return target


def test_any_text_can_still_be_spelled(tmp_path: Path) -> None:
    tokens = pieces({})
    kept = np.delete(np.arange(len(tokens.texts)), slice(271, 275))
    with closing(LlamaModel(pruned(write_model(tmp_path / "whole.gguf", tokens), kept))) as model:
        for text in ("Größe", "日本 \t\n", "🙂 the", "Ωμ"):
            assert b"".join(map(model.piece, model.tokenize(text))).decode() == text


@pytest.mark.parametrize("untied", [False, True], ids=["tied", "untied"])
def test_the_tokens_that_stay_have_the_same_logits(untied: bool, tmp_path: Path) -> None:
    path = write_model(tmp_path / "whole.gguf", pieces({"<mark>": CONTROL}), untied=untied)
    small = pruned(path)
    prompt = np.flatnonzero(np.isin(KEPT, [1, 262, 260])).tolist()
    # Rows are added up in an order that goes with their number.
    before = logits(path, KEPT[prompt].tolist())[:, KEPT]
    assert np.allclose(logits(small, prompt), before, atol=1e-4)


def test_special_tokens_are_found_under_their_new_ids(tmp_path: Path) -> None:
    tokens = pieces({"<mark>": CONTROL})
    path = write_model(tmp_path / "whole.gguf", tokens)
    file, mark = read_gguf(path), tokens.texts.index("<mark>")
    other = tmp_path / "other.gguf"
    write_gguf(other, {**file.entries, "tokenizer.ggml.eot_token_id": encode(mark)}, file.tensors)
    again = read_gguf(pruned(other, np.array([*KEPT, mark], np.intp)))
    texts = again.value("tokenizer.ggml.tokens")
    assert isinstance(texts, list)
    assert again.value("tokenizer.ggml.eot_token_id") == texts.index("<mark>") == len(KEPT)
    with pytest.raises(InputError, match="add to the tokens to keep the one that tokenizer"):
        pruned(other)


def test_a_tokenizer_or_a_head_that_is_not_known_is_refused(tmp_path: Path) -> None:
    path = write_model(tmp_path / "whole.gguf", pieces({}), untied=True)
    file = read_gguf(path)
    tensors = dict(file.tensors)
    tensors["second_head.weight"] = tensors.pop("output.weight")
    for other in (
        GgufFile(file.entries | {"tokenizer.ggml.model": encode("rwkv")}, file.tensors),
        GgufFile(file.entries, tensors),
    ):
        with pytest.raises(InputError, match="tokens cannot be left out of such a model"):
            prune(other, KEPT, path)


@given(st.integers(0, 2**32), st.integers(1, 4))
def test_a_header_with_wrong_bytes_is_pruned_or_refused(seed: int, wrong: int) -> None:
    with TemporaryDirectory() as folder:
        path = write_model(Path(folder) / "whole.gguf", pieces({}), untied=True)
        data = bytearray(path.read_bytes())
        place = np.random.default_rng(seed)
        for _ in range(wrong):
            end = len(data) - 4 * 32 * 900 if place.random() < 0.5 else 12_000
            data[place.integers(end)] = place.integers(256)
        path.write_bytes(data)
        with suppress(InputError):
            file = read_gguf(path)
            size = count_of(file.entries.get("tokenizer.ggml.tokens"))
            prune(file, KEPT[size > KEPT], path)
