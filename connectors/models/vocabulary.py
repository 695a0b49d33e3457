"""The vocabulary of a GGUF file."""

from pathlib import Path

import numpy as np

from connectors.gguf.file import GgufFile
from operators.errors import InputError
from operators.models.pruning.tokenizer import Table, Tokenizer

_TOKENIZERS = {"llama": "scores", "gpt2": "merges"}


def tokenizer_of(file: GgufFile, path: Path) -> Tokenizer:
    """The tokenizer of a model file. Raises `InputError` if its method is not supported here."""
    model = file.text("tokenizer.ggml.model")
    if model not in _TOKENIZERS:
        raise InputError(
            f"{path}: its tokenizer {model!r} cannot be pruned; "
            "choose a model with 'llama' (SentencePiece) or 'gpt2' (byte pairs)"
        )
    texts = file.value("tokenizer.ggml.tokens")
    kinds = file.value("tokenizer.ggml.token_type")
    scores = file.value("tokenizer.ggml.scores")
    merges = file.value("tokenizer.ggml.merges")
    if not isinstance(texts, list) or not isinstance(kinds, np.ndarray) or len(kinds) != len(texts):
        raise InputError(
            f"{path}: its header does not list its tokens and their types; use another file of the model"
        )
    if model == "llama" and (not isinstance(scores, np.ndarray) or len(scores) != len(texts)):
        raise InputError(f"{path}: its header has no score for each token; use another file of the model")
    if model == "gpt2" and not isinstance(merges, list):
        raise InputError(f"{path}: its header has no merges; use another file of the model")
    table = Table(
        model,
        texts,
        kinds.astype(np.int32),
        scores.astype(np.float32) if isinstance(scores, np.ndarray) else np.empty(0, np.float32),
        merges if isinstance(merges, list) else [],
        frozenset(special_ids(file, len(texts)).values()),
    )
    return Tokenizer(table)


def special_ids(file: GgufFile, size: int) -> dict[str, int]:
    """The header entries that name one token each, with the ids of these tokens."""
    found = {}
    for key in file.entries:
        if key.endswith("_token_id"):
            value = file.value(key)
            if isinstance(value, int) and 0 <= value < size:
                found[key] = value
    return found
