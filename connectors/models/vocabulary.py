"""The vocabulary of a GGUF file, and the file that lists which of its tokens are kept (a bit for each)."""

import hashlib
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from connectors.gguf.file import Entry, GgufFile, count_of, encode, read_gguf
from operators.errors import InputError

_TOKENS = "tokenizer.ggml.tokens"


class Vocabulary(NamedTuple):
    """The tokens of a model, and how texts are made of them."""

    #: ``llama`` (SentencePiece, merges by score) or ``gpt2`` (byte pairs, merges by rank).
    model: str
    texts: list[str]
    #: For byte pairs: ``left right``, in order of precedence.
    merges: list[str]

    @property
    def size(self) -> int:
        """The number of tokens."""
        return len(self.texts)


def vocabulary_of(file: GgufFile, path: Path) -> Vocabulary:
    """The vocabulary of a model file. Raises `InputError` if its method is not supported here."""
    model = file.text("tokenizer.ggml.model")
    if model not in ("llama", "gpt2"):
        raise InputError(
            f"{path}: tokens cannot be left out of its tokenizer {model!r}; "
            "choose a model with 'llama' (SentencePiece) or 'gpt2' (byte pairs)"
        )
    texts, merges = file.value(_TOKENS), file.value("tokenizer.ggml.merges")
    if not isinstance(texts, list) or (model == "gpt2" and not isinstance(merges, list)):
        raise InputError(f"{path}: its header does not list its tokens or merges; use another file of it")
    return Vocabulary(model, texts, merges if isinstance(merges, list) else [])


def special_ids(file: GgufFile, size: int) -> dict[str, int]:
    """The header entries that name one token each, with the ids of these tokens."""
    found = {}
    for key in file.entries:
        if key.endswith("_token_id"):
            value = file.value(key)
            if isinstance(value, int) and 0 <= value < size:
                found[key] = value
    return found


_SIZE, _SUM, _KEPT = (f"surtitle.vocabulary.{name}" for name in ("size", "sha256", "kept"))


def list_entries(file: GgufFile, size: int, kept: NDArray[np.int32]) -> dict[str, Entry]:
    """The entries that say which of the ``size`` tokens of ``file`` are kept."""
    bits = np.zeros(size, np.bool_)
    bits[kept] = True
    return {_SIZE: encode(size), _SUM: encode(_sum(file)), _KEPT: encode(np.packbits(bits))}


def read_list(path: Path, base: GgufFile, base_path: Path) -> NDArray[np.int32]:
    """The old ids, ascending, that a list (or a pruned model) keeps of the vocabulary of ``base``.

    Raises `InputError` if the file contains no list or one for another vocabulary.
    """
    file = read_gguf(path)
    size, bits = file.value(_SIZE), file.value(_KEPT)
    if not isinstance(size, int) or not isinstance(bits, np.ndarray) or bits.dtype != np.uint8:
        raise InputError(
            f"{path}: it contains no list of tokens; give the vocabulary.gguf of a captions model"
        )
    if (size, file.text(_SUM)) != (_size(base), _sum(base)) or len(bits) != -(-size // 8):
        raise InputError(
            f"{path}: these tokens belong to another vocabulary than that of {base_path}; choose its own"
        )
    return np.flatnonzero(np.unpackbits(bits.astype(np.uint8), count=size)).astype(np.int32)


def _size(file: GgufFile) -> int:
    return count_of(file.entries[_TOKENS]) if _TOKENS in file.entries else 0


def _sum(file: GgufFile) -> str:
    entry = file.entries.get(_TOKENS)
    return hashlib.sha256(entry.data).hexdigest() if entry else ""
