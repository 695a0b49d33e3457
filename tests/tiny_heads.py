"""Proposal heads of noise for tiny models."""

from pathlib import Path

import numpy as np

from connectors.models.gguf import read_gguf, write_gguf
from connectors.models.heads import heads_file
from operators.research.heads import Head, Matrix


def write_heads(path: Path, model: Path, width: int = 32, count: int = 2) -> Path:
    """A file of heads for a model of `tiny_gguf.write_model`; they leave the state nearly as it is."""
    noise = np.random.default_rng(2)

    def matrix(*shape: int) -> Matrix:
        return np.asarray(noise.normal(size=shape) / width, np.float32)

    heads = [Head(matrix(48, width), matrix(width, 48)) for _ in range(count)]
    file = heads_file(heads, np.arange(100, 250, dtype=np.int32), read_gguf(model), {})
    write_gguf(path, file.entries, file.tensors)
    return path
