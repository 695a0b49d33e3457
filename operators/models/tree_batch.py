"""The tokens of a pass over a tree in llama.cpp's format: each may belong to several sequences."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from operators.models.batch import struct_over
from operators.models.branches import Placed


class TreeBatch:
    """A llama_batch for one pass; it keeps alive what it points to."""

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
        self.struct = struct_over(**self._arrays)
        self.struct.n_tokens = len(placed)
