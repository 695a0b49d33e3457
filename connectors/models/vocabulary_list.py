"""A file with the kept tokens of a vocabulary: a GGUF header with a bit for each token of the whole.

A pruned model has the same entries, so that it can be used in place of its list.
"""

import hashlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from connectors.gguf.file import GgufFile, read_gguf
from connectors.gguf.values import Entry, count_of, encode
from operators.errors import InputError

_SIZE, _SUM, _KEPT = (f"surtitle.vocabulary.{name}" for name in ("size", "sha256", "kept"))
_TOKENS = "tokenizer.ggml.tokens"


def list_entries(file: GgufFile, size: int, kept: NDArray[np.int32]) -> dict[str, Entry]:
    """The entries that say which of the ``size`` tokens of ``file`` are kept."""
    bits = np.zeros(size, np.bool_)
    bits[kept] = True
    return {_SIZE: encode(size), _SUM: encode(_sum(file)), _KEPT: encode(np.packbits(bits))}


def list_file(file: GgufFile, size: int, kept: NDArray[np.int32]) -> GgufFile:
    """The content of a file that contains only such a list."""
    head = {
        "general.architecture": encode(file.text("general.architecture")),
        "general.type": encode("vocabulary"),
    }
    return GgufFile(head | list_entries(file, size, kept), {})


def read_list(path: Path, base: GgufFile, base_path: Path) -> NDArray[np.int32]:
    """The old ids, ascending, that a list (or a pruned model) keeps of the vocabulary of ``base``.

    Raises `InputError` if the file contains no list or one for another vocabulary.
    """
    file = read_gguf(path)
    size, bits = file.value(_SIZE), file.value(_KEPT)
    if not isinstance(size, int) or not isinstance(bits, np.ndarray) or bits.dtype != np.uint8:
        raise InputError(
            f"{path}: it contains no list of tokens; give a file written by 'surtitle model prune'"
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
