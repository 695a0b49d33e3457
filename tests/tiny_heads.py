"""Proposal heads of noise for tiny models."""

from pathlib import Path

import numpy as np

from connectors.models.gguf import write_gguf
from connectors.models.heads import heads_file, output_layer
from operators.research.heads import Head, Matrix


def write_heads(path: Path, model: Path, count: int = 2) -> Path:
    """A file of heads that choose from the second half of a model's tokens; they hardly change the state."""
    noise, layer = np.random.default_rng(2), output_layer(model)
    width = layer.width

    def matrix(*shape: int) -> Matrix:
        return np.asarray(noise.normal(size=shape) / width, np.float32)

    heads = [Head(matrix(48, width), matrix(width, 48)) for _ in range(count)]
    file = heads_file(heads, np.arange(layer.vocabulary // 2, layer.vocabulary, dtype=np.int32), layer, {})
    write_gguf(path, file.entries, file.tensors)
    return path
