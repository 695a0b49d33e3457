"""The number type of training."""

import torch

from connectors.machine.resources import cpu_features


def fast_type() -> torch.dtype:
    """The number type in which this machine trains fastest.

    bfloat16 without instructions for it is slower than float32 by orders of magnitude, and with AVX-512's
    alone on some processors.
    """
    is_fast = torch.cuda.is_available() or "amx_bf16" in cpu_features()
    return torch.bfloat16 if is_fast else torch.float32
