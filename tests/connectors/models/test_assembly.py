"""A model with fewer tokens tokenises the texts as before, and gives the tokens that stay the same logits."""

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from connectors.gguf.file import GgufFile, encode, read_gguf, write_gguf
from connectors.models.assembly import prune
from connectors.models.vocabulary import tokenizer_of
from operators.decoding.forward import Logits
from operators.errors import InputError
from operators.models.llama import ContextSettings, LlamaContext
from operators.models.llama_model import LlamaModel, TextTokenizer
from operators.models.pruning import Choice
from tests.tiny_gguf import CONTROL, Tokens, byte_pairs, pieces, write_model
from tests.vocabularies import pair_vocabularies, piece_vocabularies

Ids = NDArray[np.int32]


def pruned(path: Path, said: list[str], first: int = 0, most: int | None = None) -> tuple[Path, Ids]:
    """The model pruned to what texts and the first ids need, and the old ids of its tokens."""
    file = read_gguf(path)
    tokenizer = tokenizer_of(file, path)
    with tokenizing(path) as whole:
        counts = whole.count(said)
    choice = Choice(tokenizer, ["Latin"])
    choice.add(np.flatnonzero(counts).tolist(), most)
    choice.add(choice.words(first), most)
    small = prune(file, tokenizer, choice.ids, path)
    target = path.with_name("small.gguf")
    write_gguf(target, small.entries, small.tensors)
    return target, choice.ids


@contextmanager
def tokenizing(path: Path) -> Iterator[TextTokenizer]:
    with closing(TextTokenizer(path)) as tokenizer:
        yield tokenizer


def check_same_tokens(tokens: Tokens, said: list[str], first: int) -> None:
    with TemporaryDirectory() as folder:
        path = write_model(Path(folder) / "whole.gguf", tokens)
        small, ids = pruned(path, said, first)
        with tokenizing(path) as before, tokenizing(small) as after:
            for text in (form for one in said for form in (one, f" {one}")):
                assert ids[after.tokenize(text)].tolist() == before.tokenize(text).tolist()


@given(piece_vocabularies(), st.sampled_from([0, 300]))
def test_texts_keep_their_pieces(made: tuple[Tokens, list[str]], first: int) -> None:
    check_same_tokens(*made, first)


@given(pair_vocabularies(), st.sampled_from([0, 300]))
def test_texts_keep_their_byte_pairs(made: tuple[Tokens, list[str]], first: int) -> None:
    check_same_tokens(*made, first)


@pytest.mark.parametrize("tokens", [pieces({}), byte_pairs({"<end>": CONTROL})], ids=["pieces", "pairs"])
def test_any_text_can_still_be_spelled(tokens: Tokens, tmp_path: Path) -> None:
    small, _ = pruned(write_model(tmp_path / "whole.gguf", tokens), ["the"])
    model = LlamaModel(small)
    for text in ("Größe", "日本 \t\n", "🙂 the", "Ωμ"):
        assert b"".join(map(model.piece, model.tokenize(text))).decode() == text
    model.close()


@pytest.mark.parametrize("untied", [False, True], ids=["tied", "untied"])
def test_the_tokens_that_stay_have_the_same_logits(untied: bool, tmp_path: Path) -> None:
    path = write_model(tmp_path / "whole.gguf", pieces({"<mark>": CONTROL}), untied=untied)
    small, ids = pruned(path, ["a the"])
    assert len(ids) < tokenizer_of(read_gguf(path), path).size
    prompt = np.flatnonzero(np.isin(ids, [1, 262, 260])).tolist()
    # Rows are added up in an order that goes with their number.
    before = logits(path, ids[prompt].tolist())[:, ids]
    assert np.allclose(logits(small, prompt), before, atol=1e-4)


def logits(path: Path, prompt: list[int]) -> Logits:
    model = LlamaModel(path)
    context = LlamaContext(model, ContextSettings(cells=64, sequences=1, threads=1))
    rows = context.evaluate(0, prompt, 0, len(prompt)).copy()
    context.close()
    model.close()
    return rows


def test_special_tokens_are_found_under_their_new_ids(tmp_path: Path) -> None:
    spare = {f"<unused{number}>": CONTROL for number in range(5)}
    path = write_model(tmp_path / "whole.gguf", pieces({**spare, "<mark>": CONTROL}))
    file = read_gguf(path)
    entries = {**file.entries, "tokenizer.ggml.eot_token_id": encode(len(pieces(spare).texts))}
    other = tmp_path / "other.gguf"
    write_gguf(other, entries, file.tensors)
    small, ids = pruned(other, ["the"])
    again = read_gguf(small)
    texts = again.value("tokenizer.ggml.tokens")
    eot = again.value("tokenizer.ggml.eot_token_id")
    assert isinstance(texts, list)
    assert isinstance(eot, int)
    assert texts[eot] == "<mark>"
    assert not {"<unused0>", "<unused4>"} & set(texts)
    assert len(texts) == len(ids)


def test_no_more_tokens_stay_than_asked_for_and_none_without_its_merges(tmp_path: Path) -> None:
    path = write_model(tmp_path / "whole.gguf", pieces({}))
    _, spelling = pruned(path, ["!"])
    # " the" is merged from " t" and "he", of which the first stays anyway.
    assert len(pruned(path, ["the"], most=len(spelling) + 1)[1]) == len(spelling)
    assert len(pruned(path, ["the"], most=len(spelling) + 2)[1]) == len(spelling) + 2


def test_everything_else_is_copied_byte_for_byte(tmp_path: Path) -> None:
    path = write_model(tmp_path / "whole.gguf", pieces({}), general_license="of its own")
    before, after = read_gguf(path), read_gguf(pruned(path, ["a"])[0])
    changed = {"token_embd.weight"}
    assert [name for name in before.tensors if name not in changed] == [
        name for name in after.tensors
        if name not in changed and np.array_equal(after.tensors[name].data, before.tensors[name].data)
    ]  # fmt: skip
    assert after.entries["general.license"] == before.entries["general.license"]


def test_a_tokenizer_that_is_not_known_is_refused_by_name(tmp_path: Path) -> None:
    path = write_model(tmp_path / "whole.gguf", pieces({}))
    file = read_gguf(path)
    other = GgufFile(file.entries | {"tokenizer.ggml.model": encode("rwkv")}, file.tensors)
    with pytest.raises(InputError, match="its tokenizer 'rwkv' cannot be pruned"):
        tokenizer_of(other, path)


def test_a_head_that_is_not_known_is_refused_by_name(tmp_path: Path) -> None:
    path = write_model(tmp_path / "whole.gguf", pieces({}), untied=True)
    file = read_gguf(path)
    tensors = dict(file.tensors)
    tensors["second_head.weight"] = tensors.pop("output.weight")
    tokenizer = tokenizer_of(file, path)
    with pytest.raises(InputError, match=r"second_head\.weight has \d+ rows or columns"):
        prune(GgufFile(file.entries, tensors), tokenizer, Choice(tokenizer, ["Latin"]).ids, path)


@given(st.integers(0, 2**32), st.integers(1, 4))
def test_a_header_with_wrong_bytes_is_pruned_or_refused(seed: int, wrong: int) -> None:
    with TemporaryDirectory() as folder:
        path = write_model(Path(folder) / "whole.gguf", pieces({}), untied=True)
        data = bytearray(path.read_bytes())
        place = np.random.default_rng(seed)
        for _ in range(wrong):
            data[place.integers(len(data) - 4 * 32 * 900 if place.random() < 0.5 else 12_000)] = (
                place.integers(256)
            )
        path.write_bytes(data)
        with suppress(InputError):
            file = read_gguf(path)
            tokenizer = tokenizer_of(file, path)
            choice = Choice(tokenizer, ["Latin"])
            choice.add(choice.words(300))
            prune(file, tokenizer, choice.ids, path)
