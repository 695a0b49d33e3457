"""Training for weights that are stored in few bits.

The forward pass computes with the weights as they will be stored: the adapter added, then rounded as ggml
rounds them (quantisation-aware training; Jacob et al. 2018, section 3). Gradients pass the rounding as if it
were not there (the straight-through estimator; Bengio et al. 2013, section 4).
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch.nn.functional import linear

from operators.errors import UsageError

#: Elements that share a scale, in all of these types.
_BLOCK = 32
#: Half the number of levels, for types whose levels are -n to n - 1 times the scale.
_LEVELS: Mapping[str, int] = {"Q4_0": 8, "Q5_0": 16}
#: The types that weights can be rounded to here.
KINDS = (*_LEVELS, "Q8_0", "F16")


def rounded(weight: torch.Tensor, kind: str) -> torch.Tensor:
    """A matrix, out × in, as ggml reads it back when it was stored in ``kind``; float32.

    Raises `UsageError` for a type that is not one of `KINDS`, or whose blocks do not fill the rows.
    """
    if kind == "F16":
        return weight.half().float()
    if kind not in KINDS or weight.shape[1] % _BLOCK:
        raise UsageError(
            f"weights with rows of {weight.shape[1]} cannot be trained for {kind}; "
            f"choose one of {', '.join(KINDS)}"
        )
    blocks = weight.float().reshape(-1, _BLOCK)
    largest = blocks.gather(1, blocks.abs().argmax(1, keepdim=True))
    if (half := _LEVELS.get(kind)) is not None:
        scale = largest / -half
        steps = torch.floor(blocks * _inverse(scale) + (half + 0.5)).clamp_(max=2 * half - 1) - half
    else:
        scale = largest.abs() / 127
        steps = torch.round(blocks * _inverse(scale))
    return (steps * scale.half().float()).reshape(weight.shape)


def _inverse(scale: torch.Tensor) -> torch.Tensor:
    return torch.where(scale == 0, 0.0, 1 / scale)


def compute_rounded(layer: Any, kind: str) -> None:
    """Have a linear layer of peft with an adapter (``lora_A``, ``lora_B``) compute with rounded weights."""
    adapter = layer.active_adapters[0]
    scale = layer.scaling[adapter]
    first, second = layer.lora_A[adapter].weight, layer.lora_B[adapter].weight
    kept: list[torch.Tensor] = []

    def stored() -> torch.Tensor:
        if layer.training:
            kept.clear()
        elif kept:
            return kept[0]
        with torch.no_grad(), torch.autocast(first.device.type, enabled=False):
            merged = layer.base_layer.weight.float() + scale * (second.float() @ first.float())
            weight = rounded(merged, kind)
        if not layer.training:
            kept.append(weight)
        return weight

    def forward(values: torch.Tensor) -> torch.Tensor:
        out = linear(values, stored().to(values.dtype))
        if layer.training:
            # Adds nothing but the adapter's gradients, which cost far less than those of the whole matrix.
            low = scale * linear(linear(values.detach(), first), second)
            out = out + (low - low.detach())
        return out

    layer.forward = forward
