"""Loads a model file into PyTorch, and finds its stop tokens."""

from typing import Any

import torch

from connectors.gguf.file import GgufFile, rows_of
from operators.models.quantize import dequantize
from operators.prompts.prompt import Prompt
from operators.training.gemma import gemma


def torch_model(file: GgufFile, dtype: torch.dtype = torch.bfloat16) -> Any:
    """Load a model file's weights into PyTorch. Raises `InputError` if its architecture cannot be trained."""
    tensors = (
        (name, dequantize(rows_of(tensor), tensor.kind).reshape(tensor.shape[::-1]))
        for name, tensor in file.tensors.items()
    )
    return gemma(file.value, tensors, dtype)


def ends(prompt: Prompt, vocabulary_size: int) -> frozenset[int]:
    """All tokens that end an answer to this prompt (stop tokens)."""
    return frozenset(token for token in range(vocabulary_size) if token in prompt.stop)
