"""The tokens of one forward pass in llama.cpp's format."""

import ctypes
from collections.abc import Sequence
from typing import Any

import llama_cpp as llama
import numpy as np
from numpy.typing import NDArray


class Batch:
    """A llama_batch over our own arrays, filled in place for each pass."""

    def __init__(self, size: int) -> None:
        self._token = np.zeros(size, np.int32)
        self._pos = np.zeros(size, np.int32)
        self._count = np.ones(size, np.int32)
        self._logits = np.zeros(size, np.int8)
        # All tokens of a batch belong to the same sequence: every entry points to this one cell.
        self._sequence = np.zeros(1, np.int32)
        self._sequences = np.full(size, self._sequence.ctypes.data, np.uintp)
        self._ramp = np.arange(size, dtype=np.int32)
        self.struct = struct_over(
            token=self._token,
            pos=self._pos,
            n_seq_id=self._count,
            seq_id=self._sequences,
            logits=self._logits,
        )

    def fill(self, tokens: Sequence[int], start: int, sequence: int, rows: int) -> None:
        """Describe ``tokens`` at ``start`` of ``sequence``, the last ``rows`` of them with logits."""
        count = len(tokens)
        self._token[:count] = tokens
        self._pos[:count] = self._ramp[:count] + start
        self._sequence[0] = sequence
        self._logits[: count - rows] = 0
        self._logits[count - rows : count] = 1
        self.struct.n_tokens = count


def struct_over(**arrays: NDArray[Any]) -> llama.llama_batch:
    """A ``llama_batch`` whose fields point to ``arrays``; the caller keeps these alive."""
    struct = llama.llama_batch()
    for name, array in arrays.items():
        setattr(struct, name, ctypes.cast(array.ctypes.data, type(getattr(struct, name))))
    return struct
