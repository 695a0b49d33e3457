"""Weights as transformers writes them, converted by llama.cpp's program: llama.cpp says what PyTorch says."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece
import torch
from numpy.typing import NDArray
from transformers import Gemma2Config, Gemma2ForCausalLM, Qwen3Config, Qwen3ForCausalLM
from typer.testing import CliRunner

from flows.cli.app import app
from tests.adapters import logits
from tests.program import ROOT

SIZES = {
    "vocab_size": 400, "hidden_size": 256, "intermediate_size": 512, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 64, "max_position_embeddings": 512, "bos_token_id": 2,
    "eos_token_id": 1,
}  # fmt: skip


@pytest.fixture(scope="module", params=["gemma2", "qwen3"])
def weights(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """The folder of a tiny model in bfloat16, as Tower+ and Qwen3 are, and the model in PyTorch."""
    folder = tmp_path_factory.mktemp("weights") / f"tiny-{request.param}"
    torch.manual_seed(1)
    if request.param == "gemma2":
        # A window of 16 tokens, which what is compared exceeds; logits are capped in eager attention alone.
        own = {"num_hidden_layers": 6, "sliding_window": 16, "query_pre_attn_scalar": SIZES["head_dim"]}
        model = Gemma2ForCausalLM(Gemma2Config(**SIZES, **own, attn_implementation="eager"))
    else:
        model = Qwen3ForCausalLM(Qwen3Config(**SIZES, num_hidden_layers=2, tie_word_embeddings=False))
    for matrix in (one for one in model.parameters() if one.ndim > 1):
        torch.nn.init.normal_(matrix, std=matrix.shape[-1] ** -0.5)
    model.to(torch.bfloat16).save_pretrained(folder)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter((ROOT / "CONTRIBUTING.md").read_text().splitlines()), vocab_size=400,
        model_prefix=str(folder / "tokenizer"), model_type="bpe", byte_fallback=True, character_coverage=0.98,
        pad_id=0, eos_id=1, bos_id=2, unk_id=3, minloglevel=2, hard_vocab_limit=False,
    )  # fmt: skip
    return folder, model.to(torch.float32).eval()


def converted(folder: Path, target: Path, *options: str) -> Path:
    done = CliRunner().invoke(app, ["model", "convert", str(folder), "-o", str(target), *options])
    assert done.exit_code == 0, (done.output, done.exception)
    assert "sha256" in done.output
    return target


def greedy(model: Any, prompt: Sequence[int]) -> tuple[tuple[int, ...], NDArray[np.float32]]:
    """A prompt with 24 tokens more, and the logits behind all of them."""
    tokens = list(prompt)
    with torch.inference_mode():
        for _ in range(24):
            tokens.append(int(model(torch.tensor([tokens])).logits[0, -1].argmax()))
        return tuple(tokens), model(torch.tensor([tokens])).logits[0].numpy()


def test_the_converted_model_goes_on_as_pytorch_does(weights: tuple[Path, Any], tmp_path: Path) -> None:
    folder, model = weights
    prompt = [2, *map(int, np.random.default_rng(0).integers(4, 400, 16))]
    tokens, theirs = greedy(model, prompt)
    ours = logits(converted(folder, tmp_path / "whole.gguf"), tokens)
    assert np.abs(ours - theirs).max() < 0.05 * theirs.std()
    best = np.sort(theirs, axis=1)
    is_clear = best[:, -1] - best[:, -2] > 0.1
    assert is_clear.mean() > 0.4
    assert (ours.argmax(axis=1) == theirs.argmax(axis=1))[is_clear].all()
    # Four bits lose something, and not much.
    packed = converted(folder, tmp_path / "packed.gguf", "--quantize", "q4_k_m")
    assert packed.stat().st_size < 0.45 * (tmp_path / "whole.gguf").stat().st_size
    assert np.corrcoef(logits(packed, tokens).ravel(), theirs.ravel())[0, 1] > 0.95
