"""The weights and the vocabulary of a model in llama.cpp: its kind, and tokens to text and back."""

import ctypes
import os
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import llama_cpp as llama

from operators.errors import InputError

_ROTARY = (llama.LLAMA_ROPE_TYPE_NORM, llama.LLAMA_ROPE_TYPE_NEOX)
#: In models with sliding windows, at least one of this many layers attends to all tokens.
_WINDOWED = 6


class LlamaModel:
    """The weights and the vocabulary of a GGUF model, loaded once per process."""

    def __init__(self, path: Path, progress: Callable[[float], None] | None = None) -> None:
        """Load ``path``; ``progress`` receives the fraction done, from 0 to 1.

        Raises `InputError` if llama.cpp cannot read the file, or if the model is not a decoder-only one.
        """
        be_quiet()
        self.path = path
        self.handle: ctypes.c_void_p | None = _load(path, progress)
        #: Whether the memory, or part of it, is a state that cannot be cut at any position.
        self.is_recurrent = bool(
            llama.llama_model_is_recurrent(self.handle) or llama.llama_model_is_hybrid(self.handle)
        )
        #: Whether tokens can move: a position is one rotation of the keys, which llama.cpp can change.
        self.can_turn = (
            llama.llama_model_rope_type(self.handle) in _ROTARY
            and not self.is_recurrent
            and not _slides_alone(self.handle)
        )
        if (kind := _other_kind(self.handle)) is not None:
            self.refuse(kind)
        self._vocab = llama.llama_model_get_vocab(self.handle)
        self.vocabulary_size = int(llama.llama_vocab_n_tokens(self._vocab))
        self._pieces: dict[int, bytes] = {}
        # If llama.cpp puts a space before every text, these tokens come first and are cut off.
        self._before = "\n" if self._adds_space() else ""
        self._before_tokens = self._tokenize(self._before, special=False)

    def refuse(self, kind: str) -> NoReturn:
        """Free the weights and raise an `InputError` that names the kind of the model."""
        name = self.metadata("general.architecture")
        self.close()
        raise InputError(f"{self.path}: {name} is {kind}; {USE_ANOTHER}")

    def close(self) -> None:
        if self.handle:
            llama.llama_model_free(self.handle)
            self.handle = None

    def tokenize(self, text: str, *, special: bool = False) -> list[int]:
        """Token ids of ``text`` as part of a prompt. Only with ``special`` can it spell control tokens.

        No space is put before it, because a prompt is assembled from parts that contain their own spaces.
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
        room = len(data) + 8  # a token has at least one byte, except for some that are added
        buffer = (llama.llama_token * room)()
        count = llama.llama_tokenize(self._vocab, data, len(data), buffer, room, False, special)
        if count < 0:
            raise RuntimeError(f"llama_tokenize wants {-count} tokens for {len(data)} bytes")
        return list(buffer[:count])

    def _as_text(self, token: int) -> list[int]:
        """Tokens that spell the text of ``token``, if it is a mark like ``<think>``; otherwise the token.

        llama.cpp keeps only control tokens out of a text. A "user defined" token of the vocabulary, like
        Qwen3's ``<think>``, is recognised wherever it is spelled.
        """
        if not llama.llama_vocab_get_attr(self._vocab, token) & llama.LLAMA_TOKEN_ATTR_USER_DEFINED:
            return [token]
        text = self.piece(token).decode("utf-8", "replace")
        if len(text) < 2 or text.isspace() or text[0].isalnum():
            return [token]
        return [*self.tokenize(text[0]), *self.tokenize(text[1:])]

    def _adds_space(self) -> bool:
        # llama.cpp's default without this key: SentencePiece vocabularies ("llama") get a space.
        said = self.metadata("tokenizer.ggml.add_space_prefix")
        return said == "true" if said else self.metadata("tokenizer.ggml.model") == "llama"

    def piece(self, token: int) -> bytes:
        piece = self._pieces.get(token)
        if piece is None and not 0 <= token < self.vocabulary_size:
            return b""
        if piece is None:
            buffer = ctypes.create_string_buffer(256)
            length = llama.llama_token_to_piece(self._vocab, token, buffer, 256, 0, False)
            piece = self._pieces[token] = buffer.raw[: max(length, 0)]
        return piece

    def spelled(self, token: int) -> str:
        """The vocabulary's text for a token, including control tokens."""
        text: bytes = llama.llama_vocab_get_text(self._vocab, token)
        return text.decode("utf-8", "replace")

    def is_end(self, token: int) -> bool:
        return bool(llama.llama_vocab_is_eog(self._vocab, token))

    @property
    def begin(self) -> list[int]:
        """The tokens at the start of a prompt: BOS, if the model wants one."""
        if not llama.llama_vocab_get_add_bos(self._vocab):
            return []
        return [int(llama.llama_vocab_bos(self._vocab))]

    @property
    def pad(self) -> int:
        """The padding token; if the vocabulary has none, the token that ends a text."""
        pad, end = llama.llama_vocab_pad(self._vocab), llama.llama_vocab_eos(self._vocab)
        return int(max(0, end if pad < 0 else pad))

    @property
    def begin_text(self) -> str:
        return self._spelling("tokenizer.ggml.bos_token_id", llama.llama_vocab_bos(self._vocab))

    @property
    def end_text(self) -> str:
        return self._spelling("tokenizer.ggml.eos_token_id", llama.llama_vocab_eos(self._vocab))

    def _spelling(self, key: str, token: int) -> str:
        if token < 0 or self.metadata(key) is None:  # llama.cpp guesses a token, which may be any letter
            return ""
        return self.spelled(token)

    def metadata(self, key: str) -> str | None:
        """A value of the GGUF's header as text, such as ``general.name``; None if it is missing.

        A value longer than 4 kB is cut.
        """
        buffer = ctypes.create_string_buffer(4096)
        length = llama.llama_model_meta_val_str(self.handle, key.encode(), buffer, len(buffer))
        return None if length < 0 else buffer.value.decode("utf-8", "replace")

    @property
    def chat_template(self) -> str | None:
        """The Jinja template inside the GGUF; None for a pretrained model."""
        template = llama.llama_model_chat_template(self.handle, None)
        return template.decode("utf-8", "replace") if template else None


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
    """Keep llama.cpp's log out of the captions; errors come back as a status."""


def be_quiet() -> None:
    """Silence llama.cpp and let it find its libraries."""
    llama.llama_log_set(_discard, ctypes.c_void_p(0))
    # A build with GGML_CPU_ALL_VARIANTS has a library for each kind of processor. llama.cpp itself searches
    # for these libraries only in the interpreter's folder.
    folder = Path(os.environ.get("LLAMA_CPP_LIB_PATH") or Path(llama.__file__).parent / "lib")
    library = llama.llama_cpp._lib
    if not library.ggml_backend_reg_count() and any(folder.glob("*ggml-cpu-*")):
        library.ggml_backend_load_all_from_path(os.fsencode(folder))
    llama.llama_backend_init()


USE_ANOTHER = "use a decoder-only language model, such as an instruct model"
#: The kind of a model whose context has no memory, such as BERT.
WITHOUT_MEMORY = "an embedding model that writes no text"


def _slides_alone(model: ctypes.c_void_p | None) -> bool:
    """Whether perhaps all layers attend to a window, as in a Gemma 3 with fewer layers than any real one.

    llama.cpp keeps other layers in a cache of their own, and aborts on a shift if there are none.
    """
    return bool(llama.llama_model_n_swa(model) > 0 and llama.llama_model_n_layer(model) < _WINDOWED)


def _other_kind(model: ctypes.c_void_p | None) -> str | None:
    """The kind of a model that does not continue a text token by token; None for a decoder-only model."""
    if llama.llama_model_is_diffusion(model):
        return "a diffusion model, which does not write from left to right"
    if not llama.llama_model_has_decoder(model):
        return "an encoder that writes no text"
    if llama.llama_model_has_encoder(model):
        return "a model with an encoder, which reads the whole text before it writes"
    return None


#: Maximum number of tokens by which vocabularies of one family may differ: padding at the end, or marks of
#: images. llama.cpp has the same limit for draft models.
MAX_PADDING = 128


def first_difference(one: LlamaModel, other: LlamaModel) -> str | None:
    """How the vocabulary of ``other`` differs, in words; None if all tokens have the same texts.

    One of them may have some extra tokens at the end.
    """
    sizes = one.vocabulary_size, other.vocabulary_size
    if max(sizes) - min(sizes) > MAX_PADDING:
        return f"it has {other.vocabulary_size} tokens and not {one.vocabulary_size}"
    for token in range(min(sizes) if one is not other else 0):
        if (one.spelled(token), one.is_end(token)) != (other.spelled(token), other.is_end(token)):
            return f"its token {token} is {other.spelled(token)!r} and not {one.spelled(token)!r}"
    return None
