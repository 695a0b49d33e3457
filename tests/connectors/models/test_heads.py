"""Heads in a file: what is written is read, and what does not fit is refused in a sentence."""

from pathlib import Path

import numpy as np
import pytest

from connectors.models.gguf import GgufFile, Tensor, Value, encode, read_gguf, write_gguf
from connectors.models.heads import heads_file, output_layer, read_heads
from operators.errors import InputError
from operators.research.heads import Head, Heads
from tests.tiny_gguf import CONTROL, pieces, write_model
from tests.tiny_heads import write_heads

WIDTH = 32


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("model") / "model.gguf", pieces({}))


def test_what_is_written_is_read(model: Path, tmp_path: Path) -> None:
    noise = np.random.default_rng(1)
    heads = [Head(*(noise.normal(size=(WIDTH, WIDTH)).astype(np.float32) for _ in range(2))) for _ in "ab"]
    ids = np.array([300, 4, 200, *range(20, 80)], np.int32)
    layer = output_layer(model)
    file = heads_file(heads, ids, layer, {})
    write_gguf(tmp_path / "heads.gguf", file.entries, file.tensors)
    read = read_heads(tmp_path / "heads.gguf", model)
    assert len(read) == 2
    state = noise.normal(size=WIDTH).astype(np.float32)
    want, got = Heads(heads, layer.rows(ids)).after(state), read.after(state)
    assert got.tokens == want.tokens
    assert np.allclose(got.sure, want.sure, rtol=0.2)


def test_heads_of_another_model_are_refused(model: Path, tmp_path: Path) -> None:
    heads = write_heads(tmp_path / "heads.gguf", model)
    other = write_model(tmp_path / "other.gguf", pieces({"<|end|>": CONTROL}))
    says = r"for a llama model of width 32 with 358 tokens, and other\.gguf is .* with 359 tokens; train"
    with pytest.raises(InputError, match=rf"heads\.gguf: these heads are {says}"):
        read_heads(heads, other)


def test_what_are_no_heads_is_refused(model: Path, tmp_path: Path) -> None:
    good = read_gguf(write_heads(tmp_path / "heads.gguf", model))
    inner = good.tensors["head.1.inner.weight"]

    def choosing(tokens: Value) -> GgufFile:
        return good._replace(entries=good.entries | {"surtitle.heads.tokens": encode(tokens)})

    def changed(tensor: Tensor, name: str = "head.1.inner.weight") -> GgufFile:
        return good._replace(tensors={**good.tensors, name: tensor})

    infinite = np.full(len(inner.data) // 2, np.inf, np.float16).view(np.uint8)
    damaged = [
        choosing(np.array([1, 358], np.int32)),
        choosing(np.array([1, 1], np.int32)),
        choosing("1 2 3"),
        good._replace(tensors={"head.2.inner.weight": inner}),
        changed(inner, "more"),
        changed(inner._replace(shape=inner.shape[::-1])),
        changed(inner._replace(data=infinite)),
    ]
    for says, file in [
        ("no proposal heads", read_gguf(model)),
        ("stored in an unsupported type", changed(inner._replace(kind=12))),
        *(("these heads are damaged", one) for one in damaged),
    ]:
        write_gguf(tmp_path / "wrong.gguf", file.entries, file.tensors)
        with pytest.raises(InputError, match=says):
            read_heads(tmp_path / "wrong.gguf", model)
