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
    ffn,
    mamba,
    short_convolution,
    t5,
    t5_norms,
)

#: Architectures whose memory is recurrent, recurrent in some layers, and nowhere.
KINDS = ("mamba", "lfm2", "llama")
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
    old: dict[str, Value] = {"attention.head_count": count, "attention.layer_norm_epsilon": 1e-5}
    encoded: dict[str, Value] = {**old, "attention.relative_buckets_count": 8}
    return {
        "llama": _Kind(heads, attends),
        "mamba": _Kind(ssm, mamba(size)),
        "lfm2": _Kind(
            {**some, "shortconv.l_cache": 3},
            {**short_convolution(size), **ffn(size)},
            {**attends, "attn_q_norm.weight": (size.head,), "attn_k_norm.weight": (size.head,)},
            {"token_embd_norm.weight": (size.width,)},
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
