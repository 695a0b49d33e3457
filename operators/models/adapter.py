"""A low-rank adapter (LoRA, Hu et al. 2022, section 4.1): what training adds to a model's matrices.

A matrix W of ``out`` × ``in`` becomes W + B·A·alpha/r, where A is r × ``in`` and B is ``out`` × r.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float32]


class LowRank(NamedTuple):
    """The addition to one matrix, without its scale."""

    #: r × in
    a: Matrix
    #: out × r
    b: Matrix

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the matrix that it belongs to."""
        return len(self.b), self.a.shape[1]

    @property
    def rank(self) -> int:
        """r."""
        return len(self.a)

    def is_sound(self) -> bool:
        """Whether the two matrices fit together and are finite."""
        return (
            self.a.ndim == self.b.ndim == 2
            and self.b.shape[1] == len(self.a) > 0
            and bool(np.isfinite(self.a).all() and np.isfinite(self.b).all())
        )


class Adapter(NamedTuple):
    """An adapter: the additions to the tensors of a GGUF file."""

    alpha: float
    #: By the tensor's full name, such as ``blk.0.attn_q.weight``.
    added: Mapping[str, LowRank]

    def merged(self, name: str, weight: Matrix) -> Matrix:
        """The matrix ``name`` (out × in) plus the adapter's addition, of the same shape."""
        low = self.added[name]
        return weight + (low.b @ low.a) * np.float32(self.alpha / low.rank)
