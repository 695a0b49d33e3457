"""llama.cpp as a language model: one set of weights, one context, many sequences in its KV cache.

Works on the low-level interface of llama-cpp-python: batches are filled in place, logits are views of
llama.cpp's own buffer, and each call that can fail is checked.
"""

import ctypes
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

import msgspec
import numpy as np

# OpenMP's threads spin while they wait for each other. Where another program wants a core too, a token then
# takes up to fifty times as long. Threads that spin for some microseconds and then sleep lose nothing on a
# quiet machine and little on a busy one (docs/decoding.md). OpenMP reads this once, as llama.cpp is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("GOMP_SPINCOUNT", "1000")

import llama_cpp as llama

from operators.decoding.forward import Logits
from operators.errors import InputError
from operators.models.batch import Batch
from operators.models.branches import Placed
from operators.models.kinds import USE_ANOTHER, WITHOUT_MEMORY, is_recurrent, other_kind
from operators.models.tree_batch import TreeBatch
from operators.trouble import ModelTrouble, NoRoom, Trouble

#: What llama_decode returns where the KV cache has no place for the batch.
_NO_SLOT = 1
#: Tokens per call, unless a context is told otherwise.
BATCH = 512


class ContextSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much the context holds and how it computes."""

    #: Tokens in the KV cache, all sequences together.
    cells: int
    #: Sequences that it can tell apart.
    sequences: int
    #: Tokens per call; a longer request is split.
    batch: int = BATCH
    #: Of these, tokens that are computed at a time.
    ubatch: int = 512
    threads: int
    #: Logits of a call are computed for a multiple of so many positions, where it is more than that.
    row_step: int = 1
    #: Tokens that logits are given of, from the first one on; absent for all of the vocabulary.
    tokens: int | None = None
    #: Tokens at the end of a pass that a recurrent memory shall be able to take back.
    rollback: int = 0


class LlamaModel:
    """The weights and the vocabulary of a GGUF model, loaded once per process."""

    def __init__(self, path: Path, progress: Callable[[float], None] | None = None) -> None:
        """Load ``path``; ``progress`` is told the fraction done, from 0 to 1.

        Raises `InputError` if llama.cpp cannot read the file, or if such a model does not go on with a text.
        """
        be_quiet()
        self.path = path
        self.handle: ctypes.c_void_p | None = _load(path, progress)
        self.is_recurrent = is_recurrent(self.handle)
        kind = other_kind(self.handle)
        if kind is not None:
            self.refuse(kind)
        self._vocab = llama.llama_model_get_vocab(self.handle)
        self.vocabulary_size = int(llama.llama_vocab_n_tokens(self._vocab))
        self._pieces: dict[int, bytes] = {}
        # Where llama.cpp puts a space before every text, the tokens of these come first and are cut off.
        self._before = "\n" if self._adds_space() else ""
        self._before_tokens = self._tokenize(self._before, special=False)

    def refuse(self, kind: str) -> NoReturn:
        """Free the weights and raise the `InputError` that says what the model is."""
        name = self.metadata("general.architecture")
        self.close()
        raise InputError(f"{self.path}: {name} is {kind}; {USE_ANOTHER}")

    def close(self) -> None:
        """Free the weights."""
        if self.handle:
            llama.llama_model_free(self.handle)
            self.handle = None

    def tokenize(self, text: str, *, special: bool = False) -> list[int]:
        """Token ids of ``text`` as a part of a prompt. Only with ``special`` can it spell control tokens.

        No space is put before it: a prompt is put together from parts, and says itself where spaces are.
        """
        tokens = self._tokenize(self._before + text, special=special)
        cut = len(self._before_tokens)
        if self._before and tokens[:cut] == self._before_tokens:
            tokens = tokens[cut:]
        elif self._before:
            tokens = self._tokenize(text, special=special)
        return tokens if special else [plain for token in tokens for plain in self._as_text(token)]

    def _tokenize(self, text: str, *, special: bool) -> list[int]:
        data = text.encode("utf-8", errors="replace")
        room = len(data) + 8  # no tokenizer makes more tokens than there are bytes, but for added ones
        buffer = (llama.llama_token * room)()
        count = llama.llama_tokenize(self._vocab, data, len(data), buffer, room, False, special)
        if count < 0:
            raise RuntimeError(f"llama_tokenize wants {-count} tokens for {len(data)} bytes")
        return list(buffer[:count])

    def _as_text(self, token: int) -> list[int]:
        """Tokens that spell ``token``'s text without being a mark like ``<think>``.

        llama.cpp keeps only control tokens out of a text; a mark that the model's maker has added as a
        "user defined" token is read wherever it is spelled, as Qwen3's ``<think>`` is.
        """
        if not llama.llama_vocab_get_attr(self._vocab, token) & llama.LLAMA_TOKEN_ATTR_USER_DEFINED:
            return [token]
        text = self.piece(token).decode("utf-8", "replace")
        if len(text) < 2 or text.isspace() or text[0].isalnum():
            return [token]
        return [*self.tokenize(text[0]), *self.tokenize(text[1:])]

    def _adds_space(self) -> bool:
        # What llama.cpp does when a model does not say: SentencePiece vocabularies ("llama") get a space.
        said = self.metadata("tokenizer.ggml.add_space_prefix")
        return said == "true" if said else self.metadata("tokenizer.ggml.model") == "llama"

    def piece(self, token: int) -> bytes:
        """The bytes that a token stands for; empty for a control token."""
        piece = self._pieces.get(token)
        if piece is None:
            buffer = ctypes.create_string_buffer(256)
            length = llama.llama_token_to_piece(self._vocab, token, buffer, 256, 0, False)
            piece = self._pieces[token] = buffer.raw[: max(length, 0)]
        return piece

    def spelled(self, token: int) -> str:
        """How the vocabulary spells a token, control tokens too."""
        text: bytes = llama.llama_vocab_get_text(self._vocab, token)
        return text.decode("utf-8", "replace")

    def is_end(self, token: int) -> bool:
        """Whether the model ends its output with this token."""
        return bool(llama.llama_vocab_is_eog(self._vocab, token))

    @property
    def begin(self) -> list[int]:
        """The tokens that a prompt begins with: BOS, where the model wants one."""
        if not llama.llama_vocab_get_add_bos(self._vocab):
            return []
        return [int(llama.llama_vocab_bos(self._vocab))]

    @property
    def begin_text(self) -> str:
        """How the beginning of a prompt is spelled in templates; empty where there is none."""
        return self._spelling("tokenizer.ggml.bos_token_id", llama.llama_vocab_bos(self._vocab))

    @property
    def end_text(self) -> str:
        """How the end of a text is spelled in templates; empty where there is none."""
        return self._spelling("tokenizer.ggml.eos_token_id", llama.llama_vocab_eos(self._vocab))

    def _spelling(self, key: str, token: int) -> str:
        if token < 0 or self.metadata(key) is None:  # then llama.cpp's own guess, which may be any letter
            return ""
        return self.spelled(token)

    def metadata(self, key: str) -> str | None:
        """A value of the GGUF's header as text, such as ``general.name``; None where it has none.

        Bounded: a value longer than 4 kB is cut.
        """
        buffer = ctypes.create_string_buffer(4096)
        length = llama.llama_model_meta_val_str(self.handle, key.encode(), buffer, len(buffer))
        return None if length < 0 else buffer.value.decode("utf-8", "replace")

    @property
    def chat_template(self) -> str | None:
        """The Jinja template inside the GGUF; None for a pretrained model."""
        template = llama.llama_model_chat_template(self.handle, None)
        return template.decode("utf-8", "replace") if template else None


class LlamaContext:
    """A KV cache of numbered sequences, and the passes that fill it."""

    def __init__(self, model: LlamaModel, settings: ContextSettings) -> None:
        """Raises `InputError` if there is no memory for so many cells."""
        self._vocabulary_size = model.vocabulary_size
        self._tokens = settings.tokens or model.vocabulary_size
        self._size = settings.batch
        #: Tokens of one call at most.
        self.largest_pass = settings.batch
        self._row_step = settings.row_step
        params = llama.llama_context_default_params()
        params.n_ctx = settings.cells
        params.n_batch, params.n_ubatch = settings.batch, min(settings.ubatch, settings.batch)
        params.n_seq_max = settings.sequences
        params.n_rs_seq = settings.rollback
        params.n_threads = params.n_threads_batch = settings.threads
        # One buffer for all sequences: the head of the prompt is shared, not copied. A full-size
        # sliding-window cache, as a rollback could otherwise find its cells gone.
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

    def close(self) -> None:
        """Free the cache."""
        if self._context:
            llama.llama_free(self._context)
            self._context = None

    def use_threads(self, threads: int) -> None:
        """Compute with so many threads from now on."""
        llama.llama_set_n_threads(self._context, threads, threads)

    def copy_sequence(self, source: int, target: int) -> None:
        """Let the empty sequence ``target`` hold what ``source`` holds, sharing its cells."""
        llama.llama_memory_seq_cp(self._memory, source, target, -1, -1)

    @property
    def rollback(self) -> int:
        """Tokens that a recurrent memory can take back: as many as asked for, or none."""
        return int(llama.llama_n_rs_seq(self._context))

    def state_bytes(self, sequence: int) -> int:
        """Bytes of the recurrent state of ``sequence``."""
        flags = llama.LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY
        return int(llama.llama_state_seq_get_size_ext(self._context, sequence, flags))

    def copy_part(self, source: int, target: int, start: int, end: int) -> None:
        """Let ``target`` hold what ``source`` holds from ``start`` up to ``end``, sharing its cells."""
        if start < end:
            llama.llama_memory_seq_cp(self._memory, source, target, start, end)

    def cut_sequence(self, sequence: int, length: int) -> None:
        """Forget what ``sequence`` holds from position ``length`` on.

        Raises `ModelTrouble` where llama.cpp cannot; it always can forget all of it.
        """
        if not llama.llama_memory_seq_rm(self._memory, sequence, length, -1):
            why = f"llama.cpp cannot cut a sequence at position {length}"
            raise ModelTrouble(Trouble.FAILED_PASS, why)

    def evaluate(self, sequence: int, tokens: Sequence[int], start: int, rows: int) -> Logits:
        """Append ``tokens`` to ``sequence`` at ``start``; logits of the last ``rows``, if any, as a view.

        More rows are computed where that is faster, as matrices are multiplied in tiles, and left out again.
        Split where the batch is smaller; the rows are then copied, as each call overwrites the buffer.
        Raises `ModelTrouble` where llama.cpp cannot, `NoRoom` where it could if the cache held less.
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

        There are no more than `largest_pass`. Raises likewise.
        """
        computed = self._computed(rows, len(placed))
        batch = TreeBatch(placed, computed)
        self._decode(batch.struct, len(placed))
        return self._rows(computed)[computed - rows :]

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


def _load(path: Path, progress: Callable[[float], None] | None) -> ctypes.c_void_p:
    params = llama.llama_model_default_params()
    if progress is not None:

        @llama.llama_progress_callback  # type: ignore[untyped-decorator]  # llama_cpp is not annotated
        def tell(fraction: float, _data: object) -> bool:
            progress(fraction)
            return True

        params.progress_callback = tell
    model = llama.llama_model_load_from_file(str(path).encode(), params)
    if not model:
        raise InputError(f"{path}: llama.cpp cannot load this model; use a GGUF file that it supports")
    return model  # type: ignore[no-any-return]  # llama_cpp has no annotations that mypy follows


@llama.llama_log_callback  # type: ignore[untyped-decorator]  # llama_cpp is not annotated
def _discard(_level: int, _text: bytes, _data: object) -> None:
    """llama.cpp's chatter belongs into no caption; what matters comes back as a status."""


def be_quiet() -> None:
    """Silence llama.cpp and let it find its libraries."""
    llama.llama_log_set(_discard, ctypes.c_void_p(0))
    # A build that runs anywhere has a library for each kind of processor; llama.cpp itself looks for them
    # beside the interpreter only.
    folder = Path(os.environ.get("LLAMA_CPP_LIB_PATH") or Path(llama.__file__).parent / "lib")
    library = llama.llama_cpp._lib
    if not library.ggml_backend_reg_count() and any(folder.glob("*ggml-cpu-*")):
        library.ggml_backend_load_all_from_path(os.fsencode(folder))
    llama.llama_backend_init()
