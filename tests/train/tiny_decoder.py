"""Decoders of two small layers and random weights, which llama.cpp and PyTorch both run."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from operators.prompts.template import TEMPLATES_KEY, TrainedPrompts, labels_of, spell_prompts
from tests.tiny_gguf import Tokens, Value, byte_pairs, pieces, write_gguf

HIDDEN, HEADS, WIDTH, INNER, LAYERS = 64, 2, 32, 96, 2
#: transformers takes these widths of heads, which all such models have, whatever the GGUF file says.
GEMMA_WIDTH, QWEN3_WIDTH = 256, 128


def write_gemma(path: Path, seed: int = 0, *, line_break: float = 1.0, **header: str) -> Path:
    """Write a Gemma 3; its norms and matrices are of the size that trained ones have.

    With a ``line_break`` above 1 that token's logits are so much larger than others', and answers end; and
    the blocks outweigh the embedding, which alone would say each token again.
    ``header`` gives more entries, such as ``general_name``, a first dot for the underscore.
    """
    tokens = pieces({})
    entries = {
        **_entries("gemma3", tokens, GEMMA_WIDTH),
        "gemma3.attention.sliding_window": 512,
        "tokenizer.ggml.add_space_prefix": False,
        "tokenizer.ggml.add_bos_token": True,
        **{key.replace("_", ".", 1): value for key, value in header.items()},
    }
    norms = ("attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm")
    block = {
        **_matrices(GEMMA_WIDTH),
        "attn_q_norm.weight": (GEMMA_WIDTH,),
        "attn_k_norm.weight": (GEMMA_WIDTH,),
        **{f"{name}.weight": (HIDDEN,) for name in norms},
    }
    noise = np.random.default_rng(seed)

    def tensor(name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
        values = _sample(noise, name, shape)
        if name == "token_embd.weight":
            values[tokens.texts.index("<0x0A>")] *= line_break
        if name.rpartition(".")[0].endswith(("post_attention_norm", "post_ffw_norm")) and line_break > 1:
            values *= 20
        return values

    return write_gguf(path, entries, _shapes(tokens, block), tensor)


def write_qwen(path: Path, architecture: str) -> Path:
    """Write a Qwen 2, whose head is its embedding, or a Qwen 3, which has another and norms in its heads."""
    tokens = byte_pairs({"<|endoftext|>": 3})
    is_third = architecture == "qwen3"
    width = QWEN3_WIDTH if is_third else WIDTH
    own = {"attn_q_norm.weight": (width,), "attn_k_norm.weight": (width,)}
    biases = {"attn_q.bias": (HEADS * WIDTH,), "attn_k.bias": (WIDTH,), "attn_v.bias": (WIDTH,)}
    block = {
        **_matrices(width),
        "attn_norm.weight": (HIDDEN,),
        "ffn_norm.weight": (HIDDEN,),
        **(own if is_third else biases),
    }
    shapes = _shapes(tokens, block)
    if is_third:
        shapes["output.weight"] = shapes["token_embd.weight"]
    noise = np.random.default_rng(5)
    entries = _entries(architecture, tokens, width)
    return write_gguf(path, entries, shapes, lambda name, shape: _sample(noise, name, shape))


def _matrices(width: int) -> dict[str, tuple[int, ...]]:
    return {
        "attn_q.weight": (HIDDEN, HEADS * width),
        "attn_k.weight": (HIDDEN, width),
        "attn_v.weight": (HIDDEN, width),
        "attn_output.weight": (HEADS * width, HIDDEN),
        "ffn_gate.weight": (HIDDEN, INNER),
        "ffn_up.weight": (HIDDEN, INNER),
        "ffn_down.weight": (INNER, HIDDEN),
    }


def _entries(architecture: str, tokens: Tokens, width: int) -> dict[str, Value]:
    sizes = {
        "context_length": 512,
        "embedding_length": HIDDEN,
        "block_count": LAYERS,
        "feed_forward_length": INNER,
        "attention.head_count": HEADS,
        "attention.head_count_kv": 1,
        "attention.key_length": width,
        "attention.value_length": width,
        "attention.layer_norm_rms_epsilon": 1e-6,
        "rope.freq_base": 1e6,
    }
    return {
        "general.architecture": architecture,
        **{f"{architecture}.{key}": value for key, value in sizes.items()},
        **tokens.entries,
        TEMPLATES_KEY: spell_prompts(TrainedPrompts((labels_of("English", "German"),))),
    }


def _shapes(tokens: Tokens, block: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    return {
        "token_embd.weight": (HIDDEN, len(tokens.texts)),
        "output_norm.weight": (HIDDEN,),
        **{f"blk.{layer}.{name}": shape for layer in range(LAYERS) for name, shape in block.items()},
    }


def _sample(noise: np.random.Generator, name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
    is_norm = name.endswith("norm.weight")
    return noise.normal(float(is_norm), 0.25 if is_norm or len(shape) == 1 else shape[0] ** -0.5, shape[::-1])
