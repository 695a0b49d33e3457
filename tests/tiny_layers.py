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
    #: Heads of a delta net and their size.
    delta: tuple[int, int] = (2, 32)
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


def attention(size: Size, queries: int = 1) -> Shapes:
    """Self-attention; a gated one has queries twice as wide."""
    return {
        "attn_norm.weight": (size.width,),
        "attn_q.weight": (size.width, queries * size.width),
        **{f"attn_{name}.weight": (size.width, size.width) for name in ("k", "v", "output")},
    }


def normed(size: Size) -> Shapes:
    """Norms of queries and keys."""
    return {"attn_q_norm.weight": (size.head,), "attn_k_norm.weight": (size.head,)}


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


def mamba2(size: Size) -> Shapes:
    """The same with a state per head."""
    conv = size.inner + 2 * size.state
    return {
        "attn_norm.weight": (size.width,),
        "ssm_in.weight": (size.width, size.inner + conv + size.ssm_heads),
        "ssm_conv1d.weight": (4, conv),
        "ssm_conv1d.bias": (conv,),
        "ssm_dt.bias": (size.ssm_heads,),
        "ssm_a": (1, size.ssm_heads),
        "ssm_d": (1, size.ssm_heads),
        "ssm_norm.weight": (size.inner, 1),
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


def delta_net(size: Size) -> Shapes:
    """Qwen3.5's gated delta net."""
    heads, head = size.delta
    wide = heads * head
    return {
        "attn_norm.weight": (size.width,),
        "attn_qkv.weight": (size.width, 3 * wide),
        "attn_gate.weight": (size.width, wide),
        "ssm_conv1d.weight": (4, 3 * wide),
        "ssm_dt.bias": (heads,),
        "ssm_a": (heads,),
        "ssm_beta.weight": (size.width, heads),
        "ssm_alpha.weight": (size.width, heads),
        "ssm_norm.weight": (head,),
        "ssm_out.weight": (wide, size.width),
    }


def post_normed(size: Size, shapes: Shapes) -> Shapes:
    """``shapes`` and a feed-forward network with a norm after attention."""
    return {**shapes, **ffn(size, "post_attention_norm.weight")}


def rwkv7(size: Size) -> Shapes:
    """A layer of RWKV 7: time mixing and channel mixing."""
    row, square, rank = (size.width,), (size.width, size.width), 8
    norms = ("attn_norm", "attn_norm_2", "time_mix_ln")
    rows = ("time_mix_w0", "time_mix_a0", "time_mix_v0", "time_mix_k_k", "time_mix_k_a", "time_mix_r_k")
    squares = ("key", "value", "receptance", "output")
    return {
        **{f"{name}.{part}": row for name in norms for part in PARTS},
        **{f"time_mix_{name}1.weight": (size.width, rank) for name in "wavg"},
        **{f"time_mix_{name}2.weight": (rank, size.width) for name in "wavg"},
        **{f"{name}.weight": row for name in rows},
        "time_mix_lerp_fused.weight": (size.width, 1, 1, 6),
        **{f"time_mix_{name}.weight": square for name in squares},
        "channel_mix_lerp_k.weight": (size.width, 1, 1),
        "channel_mix_key.weight": (size.width, size.feed_forward),
        "channel_mix_value.weight": (size.feed_forward, size.width),
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
