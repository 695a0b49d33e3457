"""Models of some kilobytes with random weights, one for each way in which a model may remember.

Names and shapes are those of llama.cpp's architectures (llama.cpp, src/models), as small as these allow.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tests.tiny_gguf import CONTROL, Value, byte_pairs, write_gguf

#: Architectures whose memory is recurrent, recurrent in some layers, and nowhere.
KINDS = ("mamba", "lfm2", "llama")
#: Architectures that do not go on with a text.
OTHERS = ("t5", "t5encoder", "bert", "llada")

#: Of tensors, by name; "{}" stands for the layer's number, which otherwise comes first.
Shapes = dict[str, tuple[int, ...]]
#: Numbers of a token, which one head has; in a state-space layer each of them has a state.
_WIDTH, _INNER, _STATE, _RANK = 64, 128, 16, 4
_LAYERS = 2
_SQUARE, _NORM = (_WIDTH, _WIDTH), (_WIDTH,)


def _squares(*names: str) -> Shapes:
    return {f"{name}.weight": _SQUARE for name in names}


def _norms(*names: str, biased: bool = False) -> Shapes:
    parts = ("weight", "bias") if biased else ("weight",)
    return {f"{name}.{part}": _NORM for name in names for part in parts}


def _t5(half: str, attention: str = "attn") -> Shapes:
    """Attention and feed-forward of T5's encoder or decoder."""
    names = [*(f"{attention}_{one}" for one in "qkvo"), "ffn_up", "ffn_down"]
    shapes = {**_norms(f"{attention}_norm", "ffn_norm"), **_squares(*names)}
    return {f"{half}.blk.{{}}.{name}": shape for name, shape in shapes.items()}


_FFN = {**_norms("ffn_norm"), **_squares("ffn_gate", "ffn_up", "ffn_down")}
_ATTENDS = {**_norms("attn_norm"), **_squares("attn_q", "attn_k", "attn_v", "attn_output"), **_FFN}
_MAMBA: Shapes = {
    **_norms("attn_norm"),
    "ssm_in.weight": (_WIDTH, 2 * _INNER),
    "ssm_conv1d.weight": (4, _INNER),
    "ssm_conv1d.bias": (_INNER,),
    "ssm_x.weight": (_INNER, _RANK + 2 * _STATE),
    "ssm_dt.weight": (_RANK, _INNER),
    "ssm_dt.bias": (_INNER,),
    "ssm_a": (_STATE, _INNER),
    "ssm_d": (_INNER,),
    "ssm_out.weight": (_INNER, _WIDTH),
}
_CONVOLUTION: Shapes = {
    **_norms("attn_norm"),
    "shortconv.conv.weight": (3, _WIDTH),
    "shortconv.in_proj.weight": (_WIDTH, 3 * _WIDTH),
    "shortconv.out_proj.weight": _SQUARE,
    **_FFN,
}
_BERT: Shapes = {
    **_squares("attn_q", "attn_k", "attn_v"),
    **_squares("attn_output", "ffn_up", "ffn_down"),
    **{f"{name}.bias": _NORM for name in ("attn_output", "ffn_up", "ffn_down")},
    **_norms("attn_output_norm", "layer_output_norm", biased=True),
}
_HEADS: dict[str, Value] = {
    "attention.head_count": 1,
    "attention.head_count_kv": 1,
    "attention.key_length": _WIDTH,
    "attention.value_length": _WIDTH,
    "rope.dimension_count": _WIDTH,
}
_OLD: dict[str, Value] = {"attention.head_count": 1, "attention.layer_norm_epsilon": 1e-5}
_ENCODED: dict[str, Value] = {**_OLD, "attention.relative_buckets_count": 8}


class _Kind(NamedTuple):
    """An architecture: its own entries in the header, and its tensors."""

    header: dict[str, Value]
    #: Of a layer; of every other one if there is a second kind.
    layer: Shapes
    second: Shapes | None = None
    #: Beside the layers and the embedding.
    rest: Shapes = _norms("output_norm")


_KINDS = {
    "llama": _Kind(_HEADS, _ATTENDS),
    "llada": _Kind(_HEADS, _ATTENDS),
    "mamba": _Kind(
        {
            "ssm.conv_kernel": 4,
            "ssm.inner_size": _INNER,
            "ssm.state_size": _STATE,
            "ssm.time_step_rank": _RANK,
            "ssm.group_count": 1,
        },
        _MAMBA,
    ),
    "lfm2": _Kind(
        {**_HEADS, "attention.head_count_kv": [0, 1], "shortconv.l_cache": 3},
        _CONVOLUTION,
        {**_ATTENDS, **_norms("attn_q_norm", "attn_k_norm")},
        _norms("token_embd_norm"),
    ),
    "t5": _Kind(
        _ENCODED,
        {**_t5("enc"), **_t5("dec"), **_t5("dec", "cross_attn")},
        rest=_norms("enc.output_norm", "dec.output_norm"),
    ),
    "t5encoder": _Kind(_ENCODED, _t5("enc"), rest=_norms("enc.output_norm")),
    "bert": _Kind(
        _OLD,
        _BERT,
        rest={
            "token_types.weight": (_WIDTH, 2),
            "position_embd.weight": (_WIDTH, 4096),
            **_norms("token_embd_norm", biased=True),
        },
    ),
}


def write_kind(path: Path, kind: str) -> Path:
    """Write a model of the architecture ``kind``, which speaks bytes and ends with its last token."""
    tokens, own = byte_pairs({"<|end|>": CONTROL}), _KINDS[kind]
    sizes: dict[str, Value] = {
        "context_length": 4096,
        "embedding_length": _WIDTH,
        "block_count": _LAYERS,
        "feed_forward_length": _WIDTH,
        "attention.layer_norm_rms_epsilon": 1e-5,
        **own.header,
    }
    entries: dict[str, Value] = {
        "general.architecture": kind,
        **{f"{kind}.{key}": value for key, value in sizes.items()},
        **tokens.entries,
        "tokenizer.ggml.token_type_count": 2,
    }
    shapes: Shapes = {"token_embd.weight": (_WIDTH, len(tokens.texts)), **own.rest}
    for layer in range(_LAYERS):
        for name, shape in (own.second if layer % 2 and own.second else own.layer).items():
            shapes[name.format(layer) if "{}" in name else f"blk.{layer}.{name}"] = shape
    noise = np.random.default_rng(0)
    return write_gguf(path, entries, shapes, lambda name, shape: _tensor(noise, name, shape))


def _tensor(noise: np.random.Generator, name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Weights for which states neither explode nor vanish; otherwise no output would depend on the states."""
    normal: NDArray[np.float64] = noise.normal(size=shape[::-1])
    if name.endswith("ssm_a"):
        decay: NDArray[np.float64] = -np.exp(normal - 2)
        return decay
    if name.endswith(".bias"):
        return 0.1 * normal
    if "norm" in name or name.endswith(("_ln.weight", "ssm_d")):
        return 1 + 0.1 * normal
    if name == "token_embd.weight":
        return normal
    fan_in = shape[0] if len(shape) > 1 else 4
    return normal * (1.5 / float(np.sqrt(fan_in)))
