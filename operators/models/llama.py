"""A context of llama.cpp: passes over tokens of one sequence, of several, or of a tree, in one KV cache.

Works on the low-level interface of llama-cpp-python: batches are filled in place, logits are views of
llama.cpp's own buffer, and each call that can fail is checked.
"""

import ctypes
from collections.abc import Sequence

import llama_cpp as llama
import numpy as np

from operators.decoding.forward import Logits
from operators.errors import InputError
from operators.model_errors import CacheFullError, ErrorKind, ModelError
from operators.models.context import ContextSettings
from operators.models.kv import Part
from operators.models.llama_model import WITHOUT_MEMORY, LlamaModel

#: llama_decode's return value if the KV cache has no space for the batch.
_NO_SLOT = 1
#: llama.cpp multiplies matrices in tiles of this many rows, and the remaining rows one by one: on one
#: processor 15 rows of logits took 93 ms, and 16 took 69.
_TILE = 4


class Batch:
    """A ``llama_batch`` over our own arrays, filled in place for each pass."""

    def __init__(self, size: int, sequences: int) -> None:
        """For at most ``size`` tokens, each of which may belong to all ``sequences``."""
        self._token = np.zeros(size, np.int32)
        self._pos = np.zeros(size, np.int32)
        self._count = np.ones(size, np.int32)
        self._logits = np.zeros(size, np.int8)
        self._sequences = np.zeros((size, sequences), np.int32)
        self._ramp = np.arange(size, dtype=np.int32)
        addresses = self._sequences.ctypes.data + self._sequences.strides[0] * np.arange(size)
        self._addresses = addresses.astype(np.uintp)
        self.struct = llama.llama_batch()
        for name, array in (
            ("token", self._token),
            ("pos", self._pos),
            ("n_seq_id", self._count),
            ("seq_id", self._addresses),
            ("logits", self._logits),
        ):
            setattr(self.struct, name, ctypes.cast(array.ctypes.data, type(getattr(self.struct, name))))

    def fill(self, parts: Sequence[Part]) -> list[slice]:
        """Describe ``parts``; returns the slice of llama.cpp's output rows for each part.

        More than `_TILE` rows are rounded up to a multiple of it, if there are enough tokens.
        """
        wanted = sum(part.rows for part in parts)
        more = -wanted % _TILE if wanted > _TILE else 0
        begin, computed, places = 0, 0, list[slice]()
        for sequences, tokens, start, rows in parts:
            end = begin + len(tokens)
            extra = min(more, len(tokens) - rows)
            more -= extra
            self._token[begin:end] = tokens
            self._pos[begin:end] = self._ramp[: len(tokens)] + start
            self._count[begin:end] = len(sequences)
            self._sequences[begin:end, : len(sequences)] = sequences
            self._logits[begin : end - rows - extra] = 0
            self._logits[end - rows - extra : end] = 1
            computed += extra + rows
            places.append(slice(computed - rows, computed))
            begin = end
        self.struct.n_tokens = begin
        return places


class LlamaContext:
    """A KV cache of numbered sequences, and the passes that fill it."""

    def __init__(self, model: LlamaModel, settings: ContextSettings) -> None:
        """Raises `InputError` if memory does not suffice for the cells."""
        self._can_turn = model.can_turn
        self._vocabulary_size = model.vocabulary_size
        self._tokens = settings.tokens or model.vocabulary_size
        self._size = settings.batch
        #: Maximum number of tokens in a pass over several sequences; 0 if sequences can only grow.
        self.largest_pass = 0 if model.is_recurrent else settings.batch
        params = llama.llama_context_default_params()
        params.n_ctx = settings.cells
        params.n_batch = params.n_ubatch = settings.batch
        params.n_seq_max = settings.sequences
        params.n_threads = params.n_threads_batch = settings.threads
        # One buffer for all sequences, to share the head of the prompt instead of copying it. A full-size
        # sliding-window cache, because otherwise the cells for a rollback may be gone.
        params.kv_unified = True
        params.swa_full = True
        self._context = llama.llama_init_from_model(model.handle, params)
        if not self._context:
            raise InputError(
                f"{model.path}: no context of {settings.cells} tokens fits into memory; "
                "use fewer or shorter sessions"
            )
        self._memory = llama.llama_get_memory(self._context)
        if not self._memory:
            self.close()
            model.refuse(WITHOUT_MEMORY)
        self._batch = Batch(settings.batch, settings.sequences)

    def close(self) -> None:
        if self._context:
            llama.llama_free(self._context)
            self._context = None

    def copy_sequence(self, source: int, target: int) -> None:
        """Let the empty sequence ``target`` hold all tokens of ``source``, sharing its cells."""
        llama.llama_memory_seq_cp(self._memory, source, target, -1, -1)

    def copy_part(self, source: int, target: int, start: int, end: int) -> None:
        """Let ``target`` also hold the tokens of ``source`` from ``start`` up to ``end``, in shared cells."""
        if start < end:
            llama.llama_memory_seq_cp(self._memory, source, target, start, end)

    def shift(self, sequence: int, start: int, end: int, by: int) -> None:
        """Add ``by`` to the positions from ``start`` up to ``end``, which belong to ``sequence`` alone.

        The next pass rotates the keys of these tokens to their new positions.
        """
        llama.llama_memory_seq_add(self._memory, sequence, start, end, by)

    @property
    def can_shift(self) -> bool:
        """Whether tokens can move: only if positions are rotations of the keys."""
        return self._can_turn and bool(llama.llama_memory_can_shift(self._memory))

    def cut_sequence(self, sequence: int, length: int) -> None:
        """Drop the tokens of ``sequence`` from position ``length`` on.

        Raises `ModelError` if llama.cpp cannot; cutting at 0 always works.
        """
        if not llama.llama_memory_seq_rm(self._memory, sequence, length, -1):
            why = f"llama.cpp cannot cut a sequence at position {length}"
            raise ModelError(ErrorKind.FAILED_PASS, why)

    def evaluate(self, sequence: int, tokens: Sequence[int], start: int, rows: int) -> Logits:
        """Append ``tokens`` to ``sequence`` at ``start``; logits of the last ``rows``, if any, as a view.

        The call is split if the batch is smaller; rows are then copied, because each call overwrites the
        buffer. Raises `ModelError` if llama.cpp fails, `CacheFullError` if less in the cache could help.
        """
        first_row = len(tokens) - rows
        found: list[Logits] = []
        for begin in range(0, len(tokens), self._size):
            some = tokens[begin : begin + self._size]
            wanted = min(len(some), max(0, begin + len(some) - first_row))
            (part,) = self.evaluate_parts([Part((sequence,), some, start + begin, wanted)])
            if wanted:
                found.append(part.copy() if begin + self._size < len(tokens) else part)
        if len(found) > 1:
            return np.concatenate(found)
        return found[0] if found else np.empty((0, self._tokens), np.float32)

    def evaluate_parts(self, parts: Sequence[Part]) -> list[Logits]:
        """Append each part to its sequences, in one pass; the logits that each requests, as views.

        Takes at most `largest_pass` tokens. Raises the errors of `evaluate`.
        """
        places = self._batch.fill(parts)
        status = llama.llama_decode(self._context, self._batch.struct)
        if status != 0:
            why = f"llama_decode returned {status} for {self._batch.struct.n_tokens} tokens"
            raise CacheFullError(why) if status == _NO_SLOT else ModelError(ErrorKind.FAILED_PASS, why)
        count = places[-1].stop
        if not count:
            return [np.empty((0, self._tokens), np.float32) for _ in parts]
        pointer = llama.llama_get_logits(self._context)
        rows = np.ctypeslib.as_array(pointer, shape=(count, self._vocabulary_size))[:, : self._tokens]
        return [rows[place] for place in places]
