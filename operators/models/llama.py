"""A context of llama.cpp: passes over tokens of one sequence, of several, or of a tree, in one KV cache.

Works on the low-level interface of llama-cpp-python: batches are filled in place, logits are views of
llama.cpp's own buffer, and each call that can fail is checked.
"""

import ctypes
from collections.abc import Sequence
from typing import Any

import llama_cpp as llama
import msgspec
import numpy as np
from numpy.typing import NDArray

from operators.decoding.forward import Logits
from operators.errors import InputError
from operators.models.branches import Placed
from operators.models.llama_model import WITHOUT_MEMORY, LlamaModel
from operators.models.store import Part
from operators.trouble import ModelTrouble, NoRoom, Trouble


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


#: llama_decode's return value if the KV cache has no space for the batch.
_NO_SLOT = 1
#: Default number of tokens per call.
BATCH = 512


class ContextSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The size of a context and how it computes."""

    #: Tokens in the KV cache, for all sequences together.
    cells: int
    #: Number of sequences.
    sequences: int
    #: Tokens per call; a longer request is split.
    batch: int = BATCH
    #: Of these, tokens computed at a time.
    ubatch: int = 512
    threads: int
    #: Logits of a call are computed for a multiple of this many positions, if there are more than that.
    row_step: int = 1
    #: Number of tokens, from the first one on, that get logits; absent for the whole vocabulary.
    tokens: int | None = None


class LlamaContext:
    """A KV cache of numbered sequences, and the passes that fill it."""

    def __init__(self, model: LlamaModel, settings: ContextSettings) -> None:
        """Raises `InputError` if there is no memory for so many cells."""
        self._can_turn = model.can_turn
        #: Whether its sequences can only grow, or be dropped as a whole.
        self.is_recurrent = model.is_recurrent
        self._vocabulary_size = model.vocabulary_size
        self._tokens = settings.tokens or model.vocabulary_size
        self._size = settings.batch
        #: Maximum number of tokens in one call.
        self.largest_pass = settings.batch
        self._row_step = settings.row_step
        params = llama.llama_context_default_params()
        params.n_ctx = settings.cells
        params.n_batch, params.n_ubatch = settings.batch, min(settings.ubatch, settings.batch)
        params.n_seq_max = settings.sequences
        params.n_threads = params.n_threads_batch = settings.threads
        # One buffer for all sequences, so that the head of the prompt is shared, not copied. A full-size
        # sliding-window cache, because a rollback could otherwise find its cells gone.
        params.kv_unified = True
        params.swa_full = True
        self._context = llama.llama_init_from_model(model.handle, params)
        if not self._context:
            raise InputError(
                f"{model.path}: no context of {settings.cells} tokens fits into memory; "
                "ask for fewer or shorter sessions"
            )
        self._memory = llama.llama_get_memory(self._context)
        if not self._memory:
            self.close()
            model.refuse(WITHOUT_MEMORY)
        self._batch = Batch(settings.batch)
        self._parts_batch = PartsBatch(settings.batch)

    def close(self) -> None:
        """Free the cache."""
        if self._context:
            llama.llama_free(self._context)
            self._context = None

    def use_threads(self, threads: int) -> None:
        """Use so many threads from now on."""
        llama.llama_set_n_threads(self._context, threads, threads)

    def copy_sequence(self, source: int, target: int) -> None:
        """Let the empty sequence ``target`` hold what ``source`` holds, sharing its cells."""
        llama.llama_memory_seq_cp(self._memory, source, target, -1, -1)

    def copy_part(self, source: int, target: int, start: int, end: int) -> None:
        """Let ``target`` hold what ``source`` holds from ``start`` up to ``end``, sharing its cells."""
        if start < end:
            llama.llama_memory_seq_cp(self._memory, source, target, start, end)

    def shift(self, sequence: int, start: int, end: int, by: int) -> None:
        """Add ``by`` to the positions from ``start`` up to ``end``, which belong to ``sequence`` alone.

        The next pass turns the keys of these tokens to their new positions.
        """
        llama.llama_memory_seq_add(self._memory, sequence, start, end, by)

    @property
    def can_shift(self) -> bool:
        """Whether tokens can move: only where positions are in the keys, as rotations."""
        return self._can_turn and bool(llama.llama_memory_can_shift(self._memory))

    def cut_sequence(self, sequence: int, length: int) -> None:
        """Drop what ``sequence`` holds from position ``length`` on.

        Raises `ModelTrouble` if llama.cpp cannot; it can always drop all of it.
        """
        if not llama.llama_memory_seq_rm(self._memory, sequence, length, -1):
            why = f"llama.cpp cannot cut a sequence at position {length}"
            raise ModelTrouble(Trouble.FAILED_PASS, why)

    def evaluate(self, sequence: int, tokens: Sequence[int], start: int, rows: int) -> Logits:
        """Append ``tokens`` to ``sequence`` at ``start``; logits of the last ``rows``, if any, as a view.

        If it is faster, extra rows are computed, because matrices are multiplied in tiles, and dropped.
        The call is split if the batch is smaller; rows are then copied, as each call overwrites the buffer.
        Raises `ModelTrouble` if llama.cpp fails, `NoRoom` if it could succeed with less in the cache.
        """
        first_row = len(tokens) - rows
        parts: list[Logits] = []
        size = self._size
        for begin in range(0, len(tokens), size):
            part = tokens[begin : begin + size]
            wanted = min(len(part), max(0, begin + len(part) - first_row))
            computed = self._computed(wanted, len(part))
            self._batch.fill(part, start + begin, sequence, computed)
            self._decode(self._batch.struct, len(part))
            if wanted:
                parts.append(self._rows(computed)[computed - wanted :])
                if begin + size < len(tokens):
                    parts[-1] = parts[-1].copy()
        if len(parts) > 1:
            return np.concatenate(parts)
        return parts[0] if parts else np.empty((0, self._tokens), np.float32)

    def evaluate_placed(self, placed: Sequence[Placed], rows: int) -> Logits:
        """Append tokens, each to its own sequences; logits of the last ``rows``, as a view.

        There are at most `largest_pass` of them. Raises the same errors.
        """
        computed = self._computed(rows, len(placed))
        batch = TreeBatch(placed, computed)
        self._decode(batch.struct, len(placed))
        return self._rows(computed)[computed - rows :]

    def evaluate_parts(self, parts: Sequence[Part]) -> list[Logits]:
        """Append each part's tokens to its sequence, in one pass; the logits that each wants, as views.

        There are no more tokens than `largest_pass`. Raises likewise.
        """
        places = self._parts_batch.fill(parts, self._row_step)
        self._decode(self._parts_batch.struct, sum(len(part.evaluation.tokens) for part in parts))
        rows = self._rows(max(place.stop for place in places))
        return [rows[place] for place in places]

    def _decode(self, batch: object, tokens: int) -> None:
        status = llama.llama_decode(self._context, batch)
        if status != 0:
            why = f"llama_decode returned {status} for {tokens} tokens"
            raise NoRoom(why) if status == _NO_SLOT else ModelTrouble(Trouble.FAILED_PASS, why)

    def _computed(self, wanted: int, most: int) -> int:
        if wanted <= self._row_step:
            return wanted
        return min(most, -(-wanted // self._row_step) * self._row_step)

    def _rows(self, count: int) -> Logits:
        pointer = llama.llama_get_logits(self._context)
        return np.ctypeslib.as_array(pointer, shape=(count, self._vocabulary_size))[:, : self._tokens]
