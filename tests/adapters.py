"""Adapters of noise for tiny models."""

from pathlib import Path

import numpy as np

from connectors.gguf.file import encode, write_gguf
from connectors.models.adapter import adapter_file
from operators.models.adapter import Adapter, LowRank, Matrix
from operators.models.tensor_types import TYPES_KEY
from operators.prompts.template import TEMPLATES_KEY, TrainedPrompts, labels_of, spell_prompts

NAMES = ("blk.0.attn_q.weight", "blk.0.ffn_down.weight")


def noise(rank: int = 4, width: int = 32, seed: int = 1) -> Adapter:
    """An adapter for two matrices of `tiny_gguf.write_model`."""
    made = np.random.default_rng(seed)

    def matrix(*shape: int) -> Matrix:
        return np.asarray(made.normal(size=shape) / 4, np.float32)

    return Adapter(8.0, {name: LowRank(matrix(rank, width), matrix(width, rank)) for name in NAMES})


def write_adapter(path: Path, adapter: Adapter, kind: str = "F16", types: str = "") -> Path:
    """A file of it, for English into German; ``types`` are those of the weights that it was trained for."""
    prompts = TrainedPrompts((labels_of("English", "German"),))
    entries = {TEMPLATES_KEY: encode(spell_prompts(prompts))} | ({TYPES_KEY: encode(types)} if types else {})
    file = adapter_file(adapter, "llama", entries, kind)
    write_gguf(path, file.entries, file.tensors)
    return path
