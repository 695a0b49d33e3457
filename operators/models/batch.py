"""The tokens of one forward pass in llama.cpp's format: of a sequence, of several, or of a tree."""

import ctypes
from collections.abc import Sequence
from typing import Any

import llama_cpp as llama
import numpy as np
from numpy.typing import NDArray

from operators.models.branches import Placed
from operators.models.store import Part


class _ReusedBatch:
    """A ``llama_batch`` over our own arrays, filled in place for each pass.

    Args:
        size: Maximum number of tokens.
        sequence: The sequences to which the tokens belong.
        sequences: For each token, the address of its sequence in ``sequence``.
    """

    def __init__(self, size: int, sequence: NDArray[np.int32], sequences: NDArray[np.uintp]) -> None:
        self._token = np.zeros(size, np.int32)
        self._pos = np.zeros(size, np.int32)
        self._count = np.ones(size, np.int32)
        self._logits = np.zeros(size, np.int8)
        self._sequence, self._sequences = sequence, sequences
        self._ramp = np.arange(size, dtype=np.int32)
        self.struct = _struct_over(
            token=self._token,
            pos=self._pos,
            n_seq_id=self._count,
            seq_id=self._sequences,
            logits=self._logits,
        )


class Batch(_ReusedBatch):
    """The tokens of a pass over one sequence."""

    def __init__(self, size: int) -> None:
        # All tokens belong to the same sequence: every entry points to this one cell.
        sequence = np.zeros(1, np.int32)
        super().__init__(size, sequence, np.full(size, sequence.ctypes.data, np.uintp))

    def fill(self, tokens: Sequence[int], start: int, sequence: int, rows: int) -> None:
        """Describe ``tokens`` at ``start`` of ``sequence``, the last ``rows`` of them with logits."""
        count = len(tokens)
        self._token[:count] = tokens
        self._pos[:count] = self._ramp[:count] + start
        self._sequence[0] = sequence
        self._logits[: count - rows] = 0
        self._logits[count - rows : count] = 1
        self.struct.n_tokens = count


class PartsBatch(_ReusedBatch):
    """The tokens of a pass over several sequences."""

    def __init__(self, size: int) -> None:
        # Each token belongs to one sequence, whose number is at the same index of another array.
        sequence = np.zeros(size, np.int32)
        addresses = sequence.ctypes.data + sequence.itemsize * np.arange(size)
        super().__init__(size, sequence, addresses.astype(np.uintp))

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


class TreeBatch:
    """The tokens of a pass over a tree, each of which may belong to several sequences.

    It serves one pass, and keeps alive what it points to.
    """

    def __init__(self, placed: Sequence[Placed], rows: int) -> None:
        """Describe tokens, the last ``rows`` of them with logits."""
        counts = [len(one.sequences) for one in placed]
        sequences = np.array([number for one in placed for number in one.sequences], np.int32)
        begins = np.cumsum([0, *counts[:-1]])
        logits = np.zeros(len(placed), np.int8)
        logits[len(placed) - rows :] = 1
        self._arrays: dict[str, NDArray[Any]] = {
            "token": np.array([one.token for one in placed], np.int32),
            "pos": np.array([one.position for one in placed], np.int32),
            "n_seq_id": np.array(counts, np.int32),
            "seq_id": (sequences.ctypes.data + sequences.itemsize * begins).astype(np.uintp),
            "logits": logits,
        }
        self._sequences = sequences
        self.struct = _struct_over(**self._arrays)
        self.struct.n_tokens = len(placed)


def _struct_over(**arrays: NDArray[Any]) -> llama.llama_batch:
    """A ``llama_batch`` whose fields point to ``arrays``; the caller keeps these alive."""
    struct = llama.llama_batch()
    for name, array in arrays.items():
        setattr(struct, name, ctypes.cast(array.ctypes.data, type(getattr(struct, name))))
    return struct
