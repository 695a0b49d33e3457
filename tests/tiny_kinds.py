"""Models of some kilobytes with random weights, one for each way in which a model may remember.

Their shapes are those of llama.cpp's architectures (llama.cpp, src/models), as small as these allow.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tests.tiny_gguf import CONTROL, Value, byte_pairs, write_gguf

_Shapes = dict[str, tuple[int, ...]]
_PARTS = ("weight", "bias")

_LAYERS = 2
_WIDTH = 64
_STATE = 16
_INNER = 2 * _WIDTH
_SSM_HEADS = 4

#: Architectures whose memory is recurrent, recurrent in some layers, and nowhere.
RECURRENT = ("mamba", "mamba2", "rwkv7")
HYBRID = ("lfm2", "granitehybrid", "falcon-h1", "qwen35")
ATTENTION = ("llama",)
#: Architectures that do not go on with a text.
OTHERS = ("t5", "t5encoder", "bert", "llada")


class _Kind(NamedTuple):
    """An architecture: its own entries in the header, and its tensors."""

    header: dict[str, Value]
    #: Of each layer in turn; "{}" stands for the layer's number.
    layers: list[_Shapes]
    #: Beside the layers and the embedding.
    rest: _Shapes = {"output_norm.weight": (_WIDTH,)}  # noqa: RUF012 - never changed


def write_kind(path: Path, kind: str, seed: int = 0) -> Path:
    """Write a model of the architecture ``kind``, which speaks bytes and ends with its last token."""
    tokens = byte_pairs({"<|end|>": CONTROL})
    own = _KINDS[kind]
    entries: dict[str, Value] = {
        "general.architecture": kind,
        f"{kind}.context_length": 4096,
        f"{kind}.embedding_length": _WIDTH,
        f"{kind}.block_count": _LAYERS,
        f"{kind}.feed_forward_length": _WIDTH,
        f"{kind}.attention.layer_norm_rms_epsilon": 1e-5,
        **{f"{kind}.{key}": value for key, value in own.header.items()},
        **tokens.entries,
        "tokenizer.ggml.token_type_count": 2,
    }
    shapes: _Shapes = {"token_embd.weight": (_WIDTH, len(tokens.texts)), **own.rest}
    if kind == "rwkv7":
        shapes["output.weight"] = shapes["token_embd.weight"]
    for layer in range(_LAYERS):
        for name, shape in own.layers[layer % len(own.layers)].items():
            shapes[name.format(layer) if "{}" in name else f"blk.{layer}.{name}"] = shape
    noise = np.random.default_rng(seed)
    return write_gguf(path, entries, {name: _tensor(noise, name, shape) for name, shape in shapes.items()})


def _tensor(noise: np.random.Generator, name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Weights for which states neither explode nor fade at once: then nothing would show what they hold."""
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


def _ffn(norm: str = "ffn_norm.weight") -> _Shapes:
    names = ("ffn_gate", "ffn_up", "ffn_down")
    return {norm: (_WIDTH,), **{f"{name}.weight": (_WIDTH, _WIDTH) for name in names}}


def _attention(query: int = _WIDTH) -> _Shapes:
    return {
        "attn_norm.weight": (_WIDTH,),
        "attn_q.weight": (_WIDTH, query),
        **{f"attn_{name}.weight": (_WIDTH, _WIDTH) for name in ("k", "v", "output")},
    }


def _normed() -> _Shapes:
    return {"attn_q_norm.weight": (_WIDTH,), "attn_k_norm.weight": (_WIDTH,)}


def _mamba() -> _Shapes:
    rank = 4
    return {
        "attn_norm.weight": (_WIDTH,),
        "ssm_in.weight": (_WIDTH, 2 * _INNER),
        "ssm_conv1d.weight": (4, _INNER),
        "ssm_conv1d.bias": (_INNER,),
        "ssm_x.weight": (_INNER, rank + 2 * _STATE),
        "ssm_dt.weight": (rank, _INNER),
        "ssm_dt.bias": (_INNER,),
        "ssm_a": (_STATE, _INNER),
        "ssm_d": (_INNER,),
        "ssm_out.weight": (_INNER, _WIDTH),
    }


def _mamba2() -> _Shapes:
    conv = _INNER + 2 * _STATE
    return {
        "attn_norm.weight": (_WIDTH,),
        "ssm_in.weight": (_WIDTH, _INNER + conv + _SSM_HEADS),
        "ssm_conv1d.weight": (4, conv),
        "ssm_conv1d.bias": (conv,),
        "ssm_dt.bias": (_SSM_HEADS,),
        "ssm_a": (1, _SSM_HEADS),
        "ssm_d": (1, _SSM_HEADS),
        "ssm_norm.weight": (_INNER, 1),
        "ssm_out.weight": (_INNER, _WIDTH),
    }


def _short_convolution() -> _Shapes:
    return {
        "attn_norm.weight": (_WIDTH,),
        "shortconv.conv.weight": (3, _WIDTH),
        "shortconv.in_proj.weight": (_WIDTH, 3 * _WIDTH),
        "shortconv.out_proj.weight": (_WIDTH, _WIDTH),
    }


def _delta_net() -> _Shapes:
    heads, wide = 2, 2 * 32
    return {
        "attn_norm.weight": (_WIDTH,),
        "attn_qkv.weight": (_WIDTH, 3 * wide),
        "attn_gate.weight": (_WIDTH, wide),
        "ssm_conv1d.weight": (4, 3 * wide),
        "ssm_dt.bias": (heads,),
        "ssm_a": (heads,),
        "ssm_beta.weight": (_WIDTH, heads),
        "ssm_alpha.weight": (_WIDTH, heads),
        "ssm_norm.weight": (32,),
        "ssm_out.weight": (wide, _WIDTH),
    }


def _post_normed(shapes: _Shapes) -> _Shapes:
    ffn = {name: shape for name, shape in _ffn().items() if name != "ffn_norm.weight"}
    return {**shapes, "post_attention_norm.weight": (_WIDTH,), **ffn}


def _rwkv7() -> _Shapes:
    rank = 8
    ranks = {"w": rank, "a": rank, "v": rank, "g": rank}
    mix: _Shapes = {}
    for name, size in ranks.items():
        mix[f"time_mix_{name}1.weight"] = (_WIDTH, size)
        mix[f"time_mix_{name}2.weight"] = (size, _WIDTH)
    return {
        **{
            f"{name}.{part}": (_WIDTH,)
            for name in ("attn_norm", "attn_norm_2", "time_mix_ln")
            for part in _PARTS
        },
        **mix,
        **{f"time_mix_{name}.weight": (_WIDTH,) for name in ("w0", "a0", "v0", "k_k", "k_a", "r_k")},
        "time_mix_lerp_fused.weight": (_WIDTH, 1, 1, 6),
        **{f"time_mix_{name}.weight": (_WIDTH, _WIDTH) for name in ("key", "value", "receptance", "output")},
        "channel_mix_lerp_k.weight": (_WIDTH, 1, 1),
        "channel_mix_key.weight": (_WIDTH, _WIDTH),
        "channel_mix_value.weight": (_WIDTH, _WIDTH),
    }


def _t5(half: str, attention: str = "attn") -> _Shapes:
    norm = {f"{half}.blk.{{}}.{name}_norm.weight": (_WIDTH,) for name in (attention, "ffn")}
    squares = [*(f"{attention}_{name}" for name in "qkvo"), "ffn_up", "ffn_down"]
    return {**norm, **{f"{half}.blk.{{}}.{name}.weight": (_WIDTH, _WIDTH) for name in squares}}


def _t5_norms(*halves: str) -> _Shapes:
    return {f"{half}.output_norm.weight": (_WIDTH,) for half in halves}


def _bert() -> _Shapes:
    squares = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_up", "ffn_down")
    biases = ("attn_output", "ffn_up", "ffn_down")
    norms = ("attn_output_norm", "layer_output_norm")
    return {
        **{f"{name}.weight": (_WIDTH, _WIDTH) for name in squares},
        **{f"{name}.bias": (_WIDTH,) for name in biases},
        **{f"{name}.{part}": (_WIDTH,) for name in norms for part in _PARTS},
    }


_SSM: dict[str, Value] = {
    "ssm.conv_kernel": 4,
    "ssm.inner_size": _INNER,
    "ssm.state_size": _STATE,
    "ssm.time_step_rank": _SSM_HEADS,
    "ssm.group_count": 1,
}
_HEADS: dict[str, Value] = {"attention.head_count": 1, "rope.dimension_count": _WIDTH}
_T5: dict[str, Value] = {"attention.head_count": 1, "attention.relative_buckets_count": 8}

_KINDS: dict[str, _Kind] = {
    "llama": _Kind(_HEADS, [{**_attention(), **_ffn()}]),
    "mamba": _Kind({**_SSM, "ssm.time_step_rank": 4}, [_mamba()]),
    "mamba2": _Kind(_SSM, [_mamba2()]),
    "rwkv7": _Kind(
        {
            "attention.layer_norm_epsilon": 1e-5,
            "wkv.head_size": _WIDTH,
            **{f"attention.{name}_lora_rank": 8 for name in ("decay", "iclr", "value_residual_mix", "gate")},
        },
        [_rwkv7()],
        {f"{name}.{part}": (_WIDTH,) for name in ("token_embd_norm", "output_norm") for part in _PARTS},
    ),
    "lfm2": _Kind(
        {**_HEADS, "attention.head_count_kv": [0, 1], "shortconv.l_cache": 3},
        [{**_short_convolution(), **_ffn()}, {**_attention(), **_normed(), **_ffn()}],
        {"token_embd_norm.weight": (_WIDTH,)},
    ),
    "granitehybrid": _Kind(
        {**_HEADS, **_SSM, "attention.head_count_kv": [0, 1]},
        [{**_mamba2(), **_ffn()}, {**_attention(), **_ffn()}],
    ),
    "falcon-h1": _Kind(
        {**_HEADS, **_SSM, "attention.head_count_kv": 1},
        [{**_mamba2(), **_attention(), **_ffn("ffn_norm")}],
    ),
    "qwen35": _Kind(
        {
            **_HEADS,
            "attention.head_count_kv": 1,
            "rope.dimension_sections": [16, 16, 0, 0],
            "ssm.conv_kernel": 4,
            "ssm.inner_size": 64,
            "ssm.state_size": 32,
            "ssm.time_step_rank": 2,
            "ssm.group_count": 2,
            "full_attention_interval": 2,
        },
        [_post_normed(_delta_net()), _post_normed({**_attention(2 * _WIDTH), **_normed()})],
    ),
    "t5": _Kind(
        _T5, [{**_t5("enc"), **_t5("dec", "attn"), **_t5("dec", "cross_attn")}], _t5_norms("enc", "dec")
    ),
    "t5encoder": _Kind(_T5, [_t5("enc")], _t5_norms("enc")),
    "bert": _Kind(
        {"attention.head_count": 1, "attention.layer_norm_epsilon": 1e-5},
        [_bert()],
        {
            "token_types.weight": (_WIDTH, 2),
            "position_embd.weight": (_WIDTH, 4096),
            **{f"token_embd_norm.{part}": (_WIDTH,) for part in _PARTS},
        },
    ),
    "llada": _Kind(_HEADS, [{**_attention(), **_ffn()}]),
}
