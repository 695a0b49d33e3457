"""Models of some kilobytes with random weights, one for each way in which a model may remember.

Their shapes are those of llama.cpp's architectures (llama.cpp, src/models), as small as these allow.
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


#: Of tensors, by name.
Shapes = dict[str, tuple[int, ...]]
PARTS = ("weight", "bias")


# The least that all architectures allow: width, numbers per attention head and per token in a state, channels
# of a state-space layer.
_WIDTH, _LAYERS, _FEED_FORWARD, _HEAD, _STATE, _SSM_HEADS = 64, 2, 64, 64, 16, 4
_INNER = 2 * _WIDTH


class _Kind(NamedTuple):
    """An architecture: its own entries in the header, and its tensors."""

    header: dict[str, Value]
    #: Of a layer, and in a hybrid of every other one; "{}" stands for the layer's number.
    layer: Shapes
    attention: Shapes | None = None
    #: Beside the layers and the embedding, in the place of an output norm.
    rest: Shapes | None = None


def write_kind(path: Path, kind: str) -> Path:
    """Write a model of the architecture ``kind``, which speaks bytes and ends with its last token."""
    tokens = byte_pairs({"<|end|>": CONTROL})
    own = _kinds()[kind]
    entries: dict[str, Value] = {
        "general.architecture": kind,
        f"{kind}.context_length": 4096,
        f"{kind}.embedding_length": _WIDTH,
        f"{kind}.block_count": _LAYERS,
        f"{kind}.feed_forward_length": _FEED_FORWARD,
        f"{kind}.attention.layer_norm_rms_epsilon": 1e-5,
        **{f"{kind}.{key}": value for key, value in own.header.items()},
        **tokens.entries,
        "tokenizer.ggml.token_type_count": 2,
    }
    rest = {"output_norm.weight": (_WIDTH,)} if own.rest is None else own.rest
    shapes: Shapes = {"token_embd.weight": (_WIDTH, len(tokens.texts)), **rest}
    for layer in range(_LAYERS):
        layer_shapes = own.layer if own.attention is None or not _attends(layer) else own.attention
        for name, shape in layer_shapes.items():
            shapes[name.format(layer) if "{}" in name else f"blk.{layer}.{name}"] = shape
    noise = np.random.default_rng(0)
    return write_gguf(path, entries, shapes, lambda name, shape: _tensor(noise, name, shape))


def _attends(layer: int) -> bool:
    return layer % 2 == 2 - 1


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


def _kinds() -> dict[str, _Kind]:
    ssm: dict[str, Value] = {
        "ssm.conv_kernel": 4,
        "ssm.inner_size": _INNER,
        "ssm.state_size": _STATE,
        "ssm.time_step_rank": _SSM_HEADS,
        "ssm.group_count": 1,
    }
    count = _WIDTH // _HEAD
    heads: dict[str, Value] = {
        "attention.head_count": count,
        "attention.head_count_kv": count,
        "attention.key_length": _HEAD,
        "attention.value_length": _HEAD,
        "rope.dimension_count": _HEAD,
    }
    some: dict[str, Value] = {
        **heads,
        "attention.head_count_kv": [count * _attends(layer) for layer in range(_LAYERS)],
    }
    attends = {**_attention(), **_ffn()}
    old: dict[str, Value] = {"attention.head_count": count, "attention.layer_norm_epsilon": 1e-5}
    encoded: dict[str, Value] = {**old, "attention.relative_buckets_count": 8}
    return {
        "llama": _Kind(heads, attends),
        "mamba": _Kind(ssm, _mamba()),
        "lfm2": _Kind(
            {**some, "shortconv.l_cache": 3},
            {**_short_convolution(), **_ffn()},
            {**attends, "attn_q_norm.weight": (_HEAD,), "attn_k_norm.weight": (_HEAD,)},
            {"token_embd_norm.weight": (_WIDTH,)},
        ),
        "t5": _Kind(
            encoded,
            {**_t5("enc"), **_t5("dec"), **_t5("dec", "cross_attn")},
            rest=_t5_norms("enc", "dec"),
        ),
        "t5encoder": _Kind(encoded, _t5("enc"), rest=_t5_norms("enc")),
        "bert": _Kind(
            old,
            _bert(),
            rest={
                "token_types.weight": (_WIDTH, 2),
                "position_embd.weight": (_WIDTH, 4096),
                **{f"token_embd_norm.{part}": (_WIDTH,) for part in PARTS},
            },
        ),
        "llada": _Kind(heads, attends),
    }


def _ffn(norm: str = "ffn_norm.weight") -> Shapes:
    wide = (_WIDTH, _FEED_FORWARD)
    return {
        norm: (_WIDTH,),
        "ffn_gate.weight": wide,
        "ffn_up.weight": wide,
        "ffn_down.weight": wide[::-1],
    }


def _attention() -> Shapes:
    return {
        "attn_norm.weight": (_WIDTH,),
        **{f"attn_{name}.weight": (_WIDTH, _WIDTH) for name in ("q", "k", "v", "output")},
    }


def _mamba() -> Shapes:
    rank = _SSM_HEADS
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


def _short_convolution() -> Shapes:
    return {
        "attn_norm.weight": (_WIDTH,),
        "shortconv.conv.weight": (3, _WIDTH),
        "shortconv.in_proj.weight": (_WIDTH, 3 * _WIDTH),
        "shortconv.out_proj.weight": (_WIDTH, _WIDTH),
    }


def _t5(half: str, attention: str = "attn") -> Shapes:
    norm = {f"{half}.blk.{{}}.{name}_norm.weight": (_WIDTH,) for name in (attention, "ffn")}
    squares = [*(f"{attention}_{name}" for name in "qkvo"), "ffn_up", "ffn_down"]
    return {**norm, **{f"{half}.blk.{{}}.{name}.weight": (_WIDTH, _WIDTH) for name in squares}}


def _t5_norms(*halves: str) -> Shapes:
    return {f"{half}.output_norm.weight": (_WIDTH,) for half in halves}


def _bert() -> Shapes:
    squares = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_up", "ffn_down")
    biases = ("attn_output", "ffn_up", "ffn_down")
    norms = ("attn_output_norm", "layer_output_norm")
    return {
        **{f"{name}.weight": (_WIDTH, _WIDTH) for name in squares},
        **{f"{name}.bias": (_WIDTH,) for name in biases},
        **{f"{name}.{part}": (_WIDTH,) for name in norms for part in PARTS},
    }
