"""Adapters of noise for tiny models."""

from pathlib import Path

import numpy as np

from connectors.models.adapter import Adapter, LowRank, adapter_file
from connectors.models.gguf import encode, write_gguf
from operators.models.quantize import Matrix
from operators.prompts.template import TEMPLATES_KEY, TrainedPrompts, labels_of, spell_prompts

NAMES = ("blk.0.attn_q.weight", "blk.0.ffn_down.weight")


def noise(rank: int = 4, width: int = 32, seed: int = 1) -> Adapter:
    """An adapter for two matrices of `tiny_gguf.write_model`."""
    made = np.random.default_rng(seed)

    def matrix(*shape: int) -> Matrix:
        return np.asarray(made.normal(size=shape) / 4, np.float32)

    return Adapter(8.0, {name: LowRank(matrix(rank, width), matrix(width, rank)) for name in NAMES})


def write_adapter(path: Path, adapter: Adapter) -> Path:
    """A file of it, for English into German."""
    prompts = TrainedPrompts((labels_of("English", "German"),))
    file = adapter_file(adapter, "llama", {TEMPLATES_KEY: encode(spell_prompts(prompts))})
    write_gguf(path, file.entries, file.tensors)
    return path
