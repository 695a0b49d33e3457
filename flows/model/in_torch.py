"""Loads a model file into PyTorch, and finds its stop tokens."""

from typing import Any

import torch

from connectors.gguf.file import GgufFile, rows_of
from connectors.machine.resources import cpu_features
from operators.models.quantize import dequantize
from operators.prompts.prompt import Prompt
from operators.training.decoder import decoder


def torch_model(file: GgufFile, dtype: torch.dtype | None = None) -> Any:
    """Load a model file's weights into PyTorch, in the fastest number type unless one is given.

    Raises `InputError` if its architecture cannot be trained.
    """
    tensors = (
        (name, dequantize(rows_of(tensor), tensor.kind).reshape(tensor.shape[::-1]))
        for name, tensor in file.tensors.items()
    )
    return decoder(file.value, tensors, dtype or fast_dtype())


def fast_dtype() -> torch.dtype:
    """The number type in which this processor trains fastest.

    Without instructions for it, bfloat16 is emulated, and slower than float32 by orders of magnitude.
    """
    fast = torch.cuda.is_available() or cpu_features() & {"avx512_bf16", "amx_bf16", "bf16"}
    return torch.bfloat16 if fast else torch.float32


def ends(prompt: Prompt, vocabulary_size: int) -> frozenset[int]:
    """All tokens that end an answer to this prompt (stop tokens)."""
    return frozenset(token for token in range(vocabulary_size) if token in prompt.stop)
