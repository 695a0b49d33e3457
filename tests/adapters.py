"""Adapters of noise for tiny models, and the logits of a model with one."""

import ctypes
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import llama_cpp as llama
import numpy as np

from connectors.models.adapter import Adapter, LowRank, adapter_file
from connectors.models.gguf import encode, write_gguf
from operators.decoding.forward import Logits
from operators.models.context import ContextSettings
from operators.models.llama import LlamaContext
from operators.models.llama_model import LlamaModel
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


def logits(path: Path, tokens: Sequence[int], adapter: Path | None = None) -> Logits:
    """The logits after each token; an adapter is applied by llama.cpp."""
    settings = ContextSettings(cells=256, sequences=1, threads=1)
    with closing(LlamaModel(path)) as model, closing(LlamaContext(model, settings)) as context:
        if adapter is not None:
            laid = llama.llama_adapter_lora_init(model.handle, str(adapter).encode())
            assert laid
            adapters = (llama.llama_adapter_lora_p_ctypes * 1)(laid)
            scales = (ctypes.c_float * 1)(1.0)
            assert llama.llama_set_adapters_lora(context._context, adapters, 1, scales) == 0
        return context.evaluate(0, tokens, 0, len(tokens)).copy()
