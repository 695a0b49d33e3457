"""Layers of llama.cpp's architectures: names and shapes of their tensors, the axes in llama.cpp's order."""

from typing import NamedTuple

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


def ffn(size: Size, norm: str = "ffn_norm.weight") -> Shapes:
    """The feed-forward network, and the norm before it."""
    wide = (size.width, size.feed_forward)
    return {
        norm: (size.width,),
        "ffn_gate.weight": wide,
        "ffn_up.weight": wide,
        "ffn_down.weight": wide[::-1],
    }


def attention(size: Size) -> Shapes:
    """Self-attention."""
    return {
        "attn_norm.weight": (size.width,),
        **{f"attn_{name}.weight": (size.width, size.width) for name in ("q", "k", "v", "output")},
    }


def mamba(size: Size) -> Shapes:
    """A selective state-space layer."""
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


def short_convolution(size: Size) -> Shapes:
    """LFM2's gated convolution over three tokens."""
    return {
        "attn_norm.weight": (size.width,),
        "shortconv.conv.weight": (3, size.width),
        "shortconv.in_proj.weight": (size.width, 3 * size.width),
        "shortconv.out_proj.weight": (size.width, size.width),
    }


def t5(size: Size, half: str, attention: str = "attn") -> Shapes:
    """Attention and feed-forward of T5's encoder or decoder."""
    norm = {f"{half}.blk.{{}}.{name}_norm.weight": (size.width,) for name in (attention, "ffn")}
    squares = [*(f"{attention}_{name}" for name in "qkvo"), "ffn_up", "ffn_down"]
    return {**norm, **{f"{half}.blk.{{}}.{name}.weight": (size.width, size.width) for name in squares}}


def t5_norms(size: Size, *halves: str) -> Shapes:
    """The norms after T5's halves."""
    return {f"{half}.output_norm.weight": (size.width,) for half in halves}


def bert(size: Size) -> Shapes:
    """A layer of BERT."""
    squares = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_up", "ffn_down")
    biases = ("attn_output", "ffn_up", "ffn_down")
    norms = ("attn_output_norm", "layer_output_norm")
    return {
        **{f"{name}.weight": (size.width, size.width) for name in squares},
        **{f"{name}.bias": (size.width,) for name in biases},
        **{f"{name}.{part}": (size.width,) for name in norms for part in PARTS},
    }
