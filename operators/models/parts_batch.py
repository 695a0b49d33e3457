"""The tokens of one pass over several sequences, in llama.cpp's layout."""

from collections.abc import Sequence

import numpy as np

from operators.models.batch import struct_over
from operators.models.store import Part


class PartsBatch:
    """A llama_batch backed by our own arrays, filled in place for each pass."""

    def __init__(self, size: int) -> None:
        self._token = np.zeros(size, np.int32)
        self._pos = np.zeros(size, np.int32)
        self._count = np.ones(size, np.int32)
        self._sequence = np.zeros(size, np.int32)
        self._logits = np.zeros(size, np.int8)
        # Each token belongs to one sequence, whose number is at the same index of another array.
        first = self._sequence.ctypes.data
        self._sequences = (first + self._sequence.itemsize * np.arange(size)).astype(np.uintp)
        self._ramp = np.arange(size, dtype=np.int32)
        self.struct = struct_over(
            token=self._token,
            pos=self._pos,
            n_seq_id=self._count,
            seq_id=self._sequences,
            logits=self._logits,
        )

    def fill(self, parts: Sequence[Part], row_step: int) -> list[slice]:
        """Fill the batch with ``parts``; returns the slice of llama.cpp's output rows for each part.

        The number of rows is a multiple of ``row_step`` if there are enough tokens: that may be faster.
        """
        wanted = sum(part.evaluation.rows for part in parts)
        more = -wanted % row_step if wanted > row_step else 0
        begin, computed, places = 0, 0, list[slice]()
        for sequence, (tokens, start, rows) in parts:
            end = begin + len(tokens)
            extra = min(more, len(tokens) - rows)
            more -= extra
            self._token[begin:end] = tokens
            self._pos[begin:end] = self._ramp[: len(tokens)] + start
            self._sequence[begin:end] = sequence
            self._logits[begin : end - rows - extra] = 0
            self._logits[end - rows - extra : end] = 1
            computed += extra + rows
            places.append(slice(computed - rows, computed))
            begin = end
        self.struct.n_tokens = begin
        return places
