"""Loads a model file into PyTorch, and finds its stop tokens."""

import timeit
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

    Without instructions for it, bfloat16 is emulated, and slower than float32 by orders of magnitude. With
    AVX-512's alone it is slower, too, on some processors (150 against 250 GFLOP/s), so it is tried.
    """
    if torch.cuda.is_available():
        return torch.bfloat16
    has_instructions = cpu_features() & {"avx512_bf16", "amx_bf16", "bf16"}
    dtypes = (torch.float32, torch.bfloat16) if has_instructions else (torch.float32,)
    return min(dtypes, key=_product_s)


def _product_s(dtype: torch.dtype) -> float:
    """Seconds of a product of matrices as large as training's, the least of several."""
    rows, weights = torch.zeros(512, 640, dtype=dtype), torch.zeros(640, 2048, dtype=dtype)
    return min(timeit.repeat(lambda: rows @ weights, number=1, repeat=10))


def ends(prompt: Prompt, vocabulary_size: int) -> frozenset[int]:
    """All tokens that end an answer to this prompt (stop tokens)."""
    return frozenset(token for token in range(vocabulary_size) if token in prompt.stop)
