"""A Gemma 3 of two small layers and random weights, which llama.cpp and PyTorch both run."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from operators.prompts.template import TEMPLATES_KEY, TrainedPrompts, labels_of, spell_prompts
from tests.tiny_gguf import pieces, write_gguf

HIDDEN, HEADS, WIDTH, INNER, LAYERS = 64, 2, 32, 96, 2


def write_gemma(path: Path, seed: int = 0, *, line_break: float = 1.0, **header: str) -> Path:
    """Write it; its norms and matrices are of the size that trained ones have.

    With a ``line_break`` above 1 that token's logits are so much larger than others', and answers end; and
    the blocks outweigh the embedding, which alone would say each token again.
    ``header`` gives more entries, such as ``general_name``, a first dot for the underscore.
    """
    tokens = pieces({})
    entries = {
        "general.architecture": "gemma3",
        "gemma3.context_length": 512,
        "gemma3.embedding_length": HIDDEN,
        "gemma3.block_count": LAYERS,
        "gemma3.feed_forward_length": INNER,
        "gemma3.attention.head_count": HEADS,
        "gemma3.attention.head_count_kv": 1,
        "gemma3.attention.key_length": WIDTH,
        "gemma3.attention.value_length": WIDTH,
        "gemma3.attention.layer_norm_rms_epsilon": 1e-6,
        "gemma3.attention.sliding_window": 512,
        "gemma3.rope.freq_base": 1e6,
        **tokens.entries,
        TEMPLATES_KEY: spell_prompts(TrainedPrompts((labels_of("English", "German"),))),
        "tokenizer.ggml.add_space_prefix": False,
        "tokenizer.ggml.add_bos_token": True,
        **{key.replace("_", ".", 1): value for key, value in header.items()},
    }
    block = {
        "attn_q.weight": (HIDDEN, HEADS * WIDTH),
        "attn_k.weight": (HIDDEN, WIDTH),
        "attn_v.weight": (HIDDEN, WIDTH),
        "attn_output.weight": (HEADS * WIDTH, HIDDEN),
        "ffn_gate.weight": (HIDDEN, INNER),
        "ffn_up.weight": (HIDDEN, INNER),
        "ffn_down.weight": (INNER, HIDDEN),
        "attn_q_norm.weight": (WIDTH,),
        "attn_k_norm.weight": (WIDTH,),
        **{
            f"{name}.weight": (HIDDEN,)
            for name in ("attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm")
        },
    }
    shapes = {
        "token_embd.weight": (HIDDEN, len(tokens.texts)),
        "output_norm.weight": (HIDDEN,),
        **{f"blk.{layer}.{name}": shape for layer in range(LAYERS) for name, shape in block.items()},
    }
    noise = np.random.default_rng(seed)

    def tensor(name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
        is_norm = name.endswith("norm.weight")
        values = noise.normal(float(is_norm), 0.25 if is_norm else shape[0] ** -0.5, shape[::-1])
        if name == "token_embd.weight":
            values[tokens.texts.index("<0x0A>")] *= line_break
        if name.rpartition(".")[0].endswith(("post_attention_norm", "post_ffw_norm")) and line_break > 1:
            values *= 20
        return values

    return write_gguf(path, entries, shapes, tensor)
