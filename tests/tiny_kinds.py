"""Models of some kilobytes with random weights, one for each way in which a model may remember.

Their shapes are those of llama.cpp's architectures (llama.cpp, src/models), as small as these allow.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tests.tiny_gguf import CONTROL, Value, byte_pairs, write_gguf
from tests.tiny_layers import (
    PARTS,
    Shapes,
    Size,
    attention,
    bert,
    delta_net,
    ffn,
    mamba,
    mamba2,
    normed,
    post_normed,
    rwkv7,
    short_convolution,
    t5,
    t5_norms,
)

#: Architectures whose memory is recurrent, recurrent in some layers, and nowhere.
RECURRENT = ("mamba", "mamba2", "rwkv7")
HYBRID = ("lfm2", "granitehybrid", "falcon-h1", "qwen35")
ATTENTION = ("llama",)
#: Architectures that do not go on with a text.
OTHERS = ("t5", "t5encoder", "bert", "llada")


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
    if kind == "rwkv7":
        shapes["output.weight"] = shapes["token_embd.weight"]
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
    attends = {**attention(size), **ffn(size)}
    qwen = {**attention(size, 2), **normed(size)}
    old: dict[str, Value] = {"attention.head_count": count, "attention.layer_norm_epsilon": 1e-5}
    encoded: dict[str, Value] = {**old, "attention.relative_buckets_count": 8}
    return {
        "llama": _Kind(heads, attends),
        "mamba": _Kind(ssm, mamba(size)),
        "mamba2": _Kind(ssm, mamba2(size)),
        "rwkv7": _Kind(
            {"attention.layer_norm_epsilon": 1e-5, "wkv.head_size": size.head, **_RANKS},
            rwkv7(size),
            rest={
                f"{name}.{part}": (size.width,)
                for name in ("token_embd_norm", "output_norm")
                for part in PARTS
            },
        ),
        "lfm2": _Kind(
            {**some, "shortconv.l_cache": 3},
            {**short_convolution(size), **ffn(size)},
            {**attends, **normed(size)},
            {"token_embd_norm.weight": (size.width,)},
        ),
        "granitehybrid": _Kind({**some, **ssm}, {**mamba2(size), **ffn(size)}, attends),
        "falcon-h1": _Kind({**heads, **ssm}, {**mamba2(size), **attention(size), **ffn(size, "ffn_norm")}),
        "qwen35": _Kind(
            {
                **heads,
                **ssm,
                "rope.dimension_sections": [size.head // 4, size.head // 4, 0, 0],
                "ssm.inner_size": size.delta[0] * size.delta[1],
                "ssm.state_size": size.delta[1],
                "ssm.time_step_rank": size.delta[0],
                "ssm.group_count": size.delta[0],
                "full_attention_interval": size.every,
            },
            post_normed(size, delta_net(size)),
            post_normed(size, qwen),
        ),
        "t5": _Kind(
            encoded,
            {**t5(size, "enc"), **t5(size, "dec"), **t5(size, "dec", "cross_attn")},
            rest=t5_norms(size, "enc", "dec"),
        ),
        "t5encoder": _Kind(encoded, t5(size, "enc"), rest=t5_norms(size, "enc")),
        "bert": _Kind(
            old,
            bert(size),
            rest={
                "token_types.weight": (size.width, 2),
                "position_embd.weight": (size.width, 4096),
                **{f"token_embd_norm.{part}": (size.width,) for part in PARTS},
            },
        ),
        "llada": _Kind(heads, attends),
    }


_RANKS: dict[str, Value] = {
    f"attention.{name}_lora_rank": 8 for name in ("decay", "iclr", "value_residual_mix", "gate")
}
