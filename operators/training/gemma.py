"""Gemma 3 in PyTorch, with the weights of a GGUF file.

transformers keeps a GGUF's weights packed and can neither train nor save them, so here its module is filled
with dequantised tensors. These are llama.cpp's weights, up to the rounding of ``dtype``.
"""

from collections.abc import Callable, Iterable
from typing import Any

import regex
import torch
from transformers import Gemma3ForCausalLM, Gemma3TextConfig

from operators.errors import InputError
from operators.models.adapter import Matrix

ARCHITECTURE = "gemma3"
#: The linear layers of a block: transformers' names to GGUF's.
LINEAR = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
_NORMS = {
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "post_attention_norm",
    "pre_feedforward_layernorm": "ffn_norm",
    "post_feedforward_layernorm": "post_ffw_norm",
}
_BLOCK = regex.compile(r"blk\.(\d+)\.(\w+)\.weight")
_EMBEDDING = "model.embed_tokens.weight"
_OUTSIDE = {"token_embd.weight": _EMBEDDING, "output_norm.weight": "model.norm.weight"}
_BLOCK_NAMES = {gguf: name for name, gguf in (LINEAR | _NORMS).items()}
#: Frequency base of the layers with a sliding window; GGUF files do not contain it.
_LOCAL_ROPE = 10_000.0


def gemma(
    header: Callable[[str], Any], tensors: Iterable[tuple[str, Matrix]], dtype: torch.dtype
) -> Gemma3ForCausalLM:
    """The model, in ``dtype``, on the CPU.

    Args:
        header: returns the value of a key of the file's header, None if it is missing.
        tensors: all tensors, dequantised, by GGUF's names.
        dtype: the number type of its computation.

    Raises:
        InputError: it is of another architecture, or tensors are missing.
    """
    if (architecture := header("general.architecture")) != ARCHITECTURE:
        raise InputError(
            f"this is a {architecture} model, and only {ARCHITECTURE} can be trained: choose another"
        )
    weights = {_name(name): _value(name, values).to(dtype) for name, values in tensors}
    with torch.device("meta"):
        model = Gemma3ForCausalLM(_config(header, len(weights[_EMBEDDING])))
    weights["lm_head.weight"] = weights[_EMBEDDING]
    missing, unknown = model.load_state_dict(weights, strict=False, assign=True)
    if missing or unknown:
        raise InputError(
            f"the model's tensors are not Gemma 3's: {min([*missing, *unknown])}; fetch it again"
        )
    # Buffers are still on the meta device, without values.
    model.model.rotary_emb = type(model.model.rotary_emb)(model.config)
    model.model.embed_tokens.embed_scale = torch.tensor(model.config.hidden_size**0.5, dtype=dtype)
    model.tie_weights()
    return model.eval()


def gguf_name(name: str) -> str:
    """GGUF's name for the weight of a linear layer that transformers calls ``model.layers.N.…``."""
    _, _, number, layer = name.removesuffix(".weight").split(".", 3)
    return f"blk.{number}.{LINEAR[layer]}.weight"


def _name(gguf: str) -> str:
    if match := _BLOCK.fullmatch(gguf):
        return f"model.layers.{match[1]}.{_BLOCK_NAMES.get(match[2], match[2])}.weight"
    return _OUTSIDE.get(gguf, gguf)


def _value(gguf: str, values: Matrix) -> torch.Tensor:
    # GGUF's norms store the factor, transformers' the factor minus one.
    return torch.tensor(values - 1 if gguf.endswith("norm.weight") else values)


def _config(header: Callable[[str], Any], vocabulary: int) -> Gemma3TextConfig:
    def value(key: str) -> Any:
        return header(f"{ARCHITECTURE}.{key}")

    return Gemma3TextConfig(
        vocab_size=vocabulary,
        hidden_size=value("embedding_length"),
        intermediate_size=value("feed_forward_length"),
        num_hidden_layers=value("block_count"),
        num_attention_heads=value("attention.head_count"),
        num_key_value_heads=value("attention.head_count_kv"),
        head_dim=value("attention.key_length"),
        query_pre_attn_scalar=value("attention.key_length"),
        rms_norm_eps=value("attention.layer_norm_rms_epsilon"),
        max_position_embeddings=value("context_length"),
        sliding_window=value("attention.sliding_window"),
        rope_parameters={
            "full_attention": {"rope_type": "default", "rope_theta": value("rope.freq_base")},
            "sliding_attention": {"rope_type": "default", "rope_theta": _LOCAL_ROPE},
        },
    )
