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


class Size(NamedTuple):
    """How large a model is; the least that all architectures allow, unless said otherwise."""

    width: int = 64
    layers: int = 2
    feed_forward: int = 64
    #: Numbers per attention head, and per token in a state.
    head: int = 64
    state: int = 16
    ssm_heads: int = 4
    #: In a hybrid every n-th layer is one of attention.
    every: int = 2
    #: Tokens of the vocabulary, at least; more than 300.
    vocabulary: int = 0

    @property
    def inner(self) -> int:
        """Channels of a state-space layer."""
        return 2 * self.width


class _Kind(NamedTuple):
    """An architecture: its own entries in the header, and its tensors."""

    header: dict[str, Value]
    #: Of a layer, and in a hybrid of every other one; "{}" stands for the layer's number.
    layer: Shapes
    attention: Shapes | None = None
    #: Beside the layers and the embedding, in the place of an output norm.
    rest: Shapes | None = None


def write_kind(path: Path, kind: str, size: Size = Size()) -> Path:  # noqa: B008 - it never changes
    """Write a model of the architecture ``kind``, which speaks bytes and ends with its last token."""
    padding = {f"<{number}>": CONTROL for number in range(size.vocabulary - 300)}
    tokens = byte_pairs({**padding, "<|end|>": CONTROL})
    own = _kinds(size)[kind]
    entries: dict[str, Value] = {
        "general.architecture": kind,
        f"{kind}.context_length": 4096,
        f"{kind}.embedding_length": size.width,
        f"{kind}.block_count": size.layers,
        f"{kind}.feed_forward_length": size.feed_forward,
        f"{kind}.attention.layer_norm_rms_epsilon": 1e-5,
        **{f"{kind}.{key}": value for key, value in own.header.items()},
        **tokens.entries,
        "tokenizer.ggml.token_type_count": 2,
    }
    rest = {"output_norm.weight": (size.width,)} if own.rest is None else own.rest
    shapes: Shapes = {"token_embd.weight": (size.width, len(tokens.texts)), **rest}
    for layer in range(size.layers):
        layer_shapes = own.layer if own.attention is None or not _attends(layer, size) else own.attention
        for name, shape in layer_shapes.items():
            shapes[name.format(layer) if "{}" in name else f"blk.{layer}.{name}"] = shape
    noise = np.random.default_rng(0)
    return write_gguf(path, entries, shapes, lambda name, shape: _tensor(noise, name, shape))


def _attends(layer: int, size: Size) -> bool:
    return layer % size.every == size.every - 1


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


def _kinds(size: Size) -> dict[str, _Kind]:
    ssm: dict[str, Value] = {
        "ssm.conv_kernel": 4,
        "ssm.inner_size": size.inner,
        "ssm.state_size": size.state,
        "ssm.time_step_rank": size.ssm_heads,
        "ssm.group_count": 1,
    }
    count = size.width // size.head
    heads: dict[str, Value] = {
        "attention.head_count": count,
        "attention.head_count_kv": count,
        "attention.key_length": size.head,
        "attention.value_length": size.head,
        "rope.dimension_count": size.head,
    }
    some: dict[str, Value] = {
        **heads,
        "attention.head_count_kv": [count * _attends(layer, size) for layer in range(size.layers)],
    }
    attends = {**_attention(size), **_ffn(size)}
    old: dict[str, Value] = {"attention.head_count": count, "attention.layer_norm_epsilon": 1e-5}
    encoded: dict[str, Value] = {**old, "attention.relative_buckets_count": 8}
    return {
        "llama": _Kind(heads, attends),
        "mamba": _Kind(ssm, _mamba(size)),
        "lfm2": _Kind(
            {**some, "shortconv.l_cache": 3},
            {**_short_convolution(size), **_ffn(size)},
            {**attends, "attn_q_norm.weight": (size.head,), "attn_k_norm.weight": (size.head,)},
            {"token_embd_norm.weight": (size.width,)},
        ),
        "t5": _Kind(
            encoded,
            {**_t5(size, "enc"), **_t5(size, "dec"), **_t5(size, "dec", "cross_attn")},
            rest=_t5_norms(size, "enc", "dec"),
        ),
        "t5encoder": _Kind(encoded, _t5(size, "enc"), rest=_t5_norms(size, "enc")),
        "bert": _Kind(
            old,
            _bert(size),
            rest={
                "token_types.weight": (size.width, 2),
                "position_embd.weight": (size.width, 4096),
                **{f"token_embd_norm.{part}": (size.width,) for part in PARTS},
            },
        ),
        "llada": _Kind(heads, attends),
    }


def _ffn(size: Size, norm: str = "ffn_norm.weight") -> Shapes:
    wide = (size.width, size.feed_forward)
    return {
        norm: (size.width,),
        "ffn_gate.weight": wide,
        "ffn_up.weight": wide,
        "ffn_down.weight": wide[::-1],
    }


def _attention(size: Size) -> Shapes:
    return {
        "attn_norm.weight": (size.width,),
        **{f"attn_{name}.weight": (size.width, size.width) for name in ("q", "k", "v", "output")},
    }


def _mamba(size: Size) -> Shapes:
    rank = size.ssm_heads
    return {
        "attn_norm.weight": (size.width,),
        "ssm_in.weight": (size.width, 2 * size.inner),
        "ssm_conv1d.weight": (4, size.inner),
        "ssm_conv1d.bias": (size.inner,),
        "ssm_x.weight": (size.inner, rank + 2 * size.state),
        "ssm_dt.weight": (rank, size.inner),
        "ssm_dt.bias": (size.inner,),
        "ssm_a": (size.state, size.inner),
        "ssm_d": (size.inner,),
        "ssm_out.weight": (size.inner, size.width),
    }


def _short_convolution(size: Size) -> Shapes:
    return {
        "attn_norm.weight": (size.width,),
        "shortconv.conv.weight": (3, size.width),
        "shortconv.in_proj.weight": (size.width, 3 * size.width),
        "shortconv.out_proj.weight": (size.width, size.width),
    }


def _t5(size: Size, half: str, attention: str = "attn") -> Shapes:
    norm = {f"{half}.blk.{{}}.{name}_norm.weight": (size.width,) for name in (attention, "ffn")}
    squares = [*(f"{attention}_{name}" for name in "qkvo"), "ffn_up", "ffn_down"]
    return {**norm, **{f"{half}.blk.{{}}.{name}.weight": (size.width, size.width) for name in squares}}


def _t5_norms(size: Size, *halves: str) -> Shapes:
    return {f"{half}.output_norm.weight": (size.width,) for half in halves}


def _bert(size: Size) -> Shapes:
    squares = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_up", "ffn_down")
    biases = ("attn_output", "ffn_up", "ffn_down")
    norms = ("attn_output_norm", "layer_output_norm")
    return {
        **{f"{name}.weight": (size.width, size.width) for name in squares},
        **{f"{name}.bias": (size.width,) for name in biases},
        **{f"{name}.{part}": (size.width,) for name in norms for part in PARTS},
    }
