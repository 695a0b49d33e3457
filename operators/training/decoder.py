"""Gemma 3, Qwen 2 and Qwen 3 in PyTorch, with the weights of a GGUF file.

transformers keeps a GGUF's weights packed and can neither train nor save them, so here its module is filled
with dequantised tensors. These are llama.cpp's weights, up to the rounding of ``dtype``. Qwen 2.5 has the
architecture of Qwen 2.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import regex
import torch
from transformers import (
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    PretrainedConfig,
    PreTrainedModel,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from operators.errors import InputError
from operators.models.adapter import Matrix

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
_HEAD_NORMS = {"self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm"}
_NORMS = {"input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm"}
_GEMMA_NORMS = {
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "post_attention_norm",
    "pre_feedforward_layernorm": "ffn_norm",
    "post_feedforward_layernorm": "post_ffw_norm",
}
_PARAMETER = regex.compile(r"blk\.(\d+)\.(\w+)\.(weight|bias)")
_EMBEDDING, _HEAD = "model.embed_tokens.weight", "lm_head.weight"
_OUTSIDE = {
    "token_embd.weight": _EMBEDDING,
    "output_norm.weight": "model.norm.weight",
    "output.weight": _HEAD,
}
#: Frequency base of Gemma's layers with a sliding window; GGUF files do not contain it.
_LOCAL_ROPE = 10_000.0

#: Returns the value of a key of a file's header, None if it is missing.
Header = Callable[[str], Any]


class _Architecture(NamedTuple):
    """How transformers builds what GGUF describes."""

    model: type[PreTrainedModel]
    config: type[PretrainedConfig]
    #: The norms of a block: transformers' names to GGUF's.
    norms: Mapping[str, str]
    #: What a norm multiplies by is this more than its weight in transformers.
    norm_offset: int
    #: Settings of its own, from the values of the architecture's keys.
    own: Callable[[Header], Mapping[str, Any]]


def _gemma3(value: Header) -> Mapping[str, Any]:
    return {
        "query_pre_attn_scalar": value("attention.key_length"),
        "sliding_window": value("attention.sliding_window"),
        "rope_parameters": {
            "full_attention": _rope(value("rope.freq_base")),
            "sliding_attention": _rope(_LOCAL_ROPE),
        },
    }


def _qwen(value: Header) -> Mapping[str, Any]:
    return {"rope_parameters": _rope(value("rope.freq_base"))}


def _rope(base: float) -> Mapping[str, Any]:
    return {"rope_type": "default", "rope_theta": base}


_ARCHITECTURES: Mapping[str, _Architecture] = {
    "gemma3": _Architecture(Gemma3ForCausalLM, Gemma3TextConfig, _HEAD_NORMS | _GEMMA_NORMS, 1, _gemma3),
    "qwen2": _Architecture(Qwen2ForCausalLM, Qwen2Config, _NORMS, 0, _qwen),
    "qwen3": _Architecture(Qwen3ForCausalLM, Qwen3Config, _HEAD_NORMS | _NORMS, 0, _qwen),
}


def decoder(header: Header, tensors: Iterable[tuple[str, Matrix]], dtype: torch.dtype) -> Any:
    """The model, in ``dtype``, on the CPU.

    Args:
        header: returns the value of a key of the file's header, None if it is missing.
        tensors: all tensors, dequantised, by GGUF's names.
        dtype: the number type of its computation.

    Raises:
        InputError: it is of another architecture, or tensors are missing.
    """
    name = header("general.architecture")
    if (architecture := _ARCHITECTURES.get(name)) is None:
        known = ", ".join(_ARCHITECTURES)
        raise InputError(f"this is a {name} model, and only these can be trained: {known}; choose another")
    names = {gguf: one for one, gguf in {**LINEAR, **architecture.norms}.items()}
    weights = {
        _name(gguf, names): _value(gguf, values, architecture.norm_offset).to(dtype)
        for gguf, values in tensors
    }
    config = _config(lambda key: header(f"{name}.{key}"), architecture, weights)
    with torch.device("meta"):
        model: Any = architecture.model(config)
    weights.setdefault(_HEAD, weights[_EMBEDDING])
    missing, unknown = model.load_state_dict(weights, strict=False, assign=True)
    if missing or unknown:
        raise InputError(
            f"the model's tensors are not those of {name}: {min([*missing, *unknown])}; fetch it again"
        )
    # Buffers are still on the meta device, without values.
    model.model.rotary_emb = type(model.model.rotary_emb)(config)
    if hasattr(model.model.embed_tokens, "embed_scale"):
        model.model.embed_tokens.embed_scale = torch.tensor(config.hidden_size**0.5, dtype=dtype)
    model.tie_weights()
    return model.eval()


def gguf_name(name: str) -> str:
    """GGUF's name for the weight of a linear layer that transformers calls ``model.layers.N.…``."""
    _, _, number, layer = name.removesuffix(".weight").split(".", 3)
    return f"blk.{number}.{LINEAR[layer]}.weight"


def _name(gguf: str, names: Mapping[str, str]) -> str:
    if match := _PARAMETER.fullmatch(gguf):
        return f"model.layers.{match[1]}.{names.get(match[2], match[2])}.{match[3]}"
    return _OUTSIDE.get(gguf, gguf)


def _value(gguf: str, values: Matrix, norm_offset: int) -> torch.Tensor:
    # GGUF's norms store the factor; Gemma's in transformers the factor minus one.
    return torch.tensor(values - norm_offset if gguf.endswith("norm.weight") else values)


def _config(
    value: Header, architecture: _Architecture, weights: Mapping[str, torch.Tensor]
) -> PretrainedConfig:
    vocabulary, width = weights[_EMBEDDING].shape
    heads = value("attention.head_count")
    return architecture.config(
        vocab_size=vocabulary,
        hidden_size=width,
        intermediate_size=value("feed_forward_length"),
        num_hidden_layers=value("block_count"),
        num_attention_heads=heads,
        num_key_value_heads=value("attention.head_count_kv"),
        head_dim=value("attention.key_length") or width // heads,
        rms_norm_eps=value("attention.layer_norm_rms_epsilon"),
        max_position_embeddings=value("context_length"),
        tie_word_embeddings=_HEAD not in weights,
        **architecture.own(value),
    )
