"""Makes a model file with a reduced vocabulary from a complete one."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from connectors.gguf.file import GgufFile, Tensor, rows_of
from connectors.gguf.values import Entry, count_of, encode, select
from connectors.models.vocabulary import special_ids
from operators.errors import InputError
from operators.models.pruning.tokenizer import Tokenizer

#: The header entry that says that, and how, a model was changed.
NOTICE_KEY = "surtitle.notice"

#: Tensors with a row for each token: the embedding, which is also Gemma's output head, and separate heads.
_ROW_PER_TOKEN = ("token_embd.weight", "output.weight", "per_layer_token_embd.weight")
_ELEMENT_PER_TOKEN = ("output.bias",)
_LISTS = ("tokenizer.ggml.tokens", "tokenizer.ggml.scores", "tokenizer.ggml.token_type")
#: Copies of the vocabulary for other programs, which would no longer be correct.
_FOREIGN = ("tokenizer.huggingface.json",)


def changes(file: GgufFile, what: str) -> Entry:
    """A header entry that says how a model was changed, as licences of weights require."""
    said = f"Changed by surtitle: {what}."
    if file.text("general.license") == "gemma":
        said += " Gemma is provided under and subject to the Gemma Terms of Use found at "
        said += "ai.google.dev/gemma/terms"
    return encode(said)


def prune(file: GgufFile, tokenizer: Tokenizer, kept: NDArray[np.int32], path: Path) -> GgufFile:
    """The file with only the tokens ``kept``, whose positions in it become their new ids.

    Raises `InputError` if the model has an unknown tensor over the vocabulary.
    """
    places = kept.astype(np.intp)
    entries = _entries(file, tokenizer, places, path)
    entries[NOTICE_KEY] = changes(file, f"{len(kept)} of {tokenizer.size} tokens stay")
    return GgufFile(entries, _tensors(file.tensors, tokenizer.size, places, path))


def _entries(file: GgufFile, tokenizer: Tokenizer, places: NDArray[np.intp], path: Path) -> dict[str, Entry]:
    new_ids = np.full(tokenizer.size, -1, np.int64)
    new_ids[places] = np.arange(len(places))
    entries = {key: entry for key, entry in file.entries.items() if key not in _FOREIGN}
    for key in _LISTS:
        if key in entries:
            if count_of(entries[key]) != tokenizer.size:
                raise InputError(
                    f"{path}: {key} does not have one value per token; use another file of this model"
                )
            entries[key] = select(entries[key], places)
    for key, token in special_ids(file, tokenizer.size).items():
        if new_ids[token] < 0:
            raise InputError(f"{path}: add to the tokens to keep the one that {key} names")
        entries[key] = encode(int(new_ids[token]), entries[key].kind)
    sizes = (f"{file.text('general.architecture')}.vocab_size", "tokenizer.ggml.vocab_size")
    for key in sizes:
        if key in entries:
            entries[key] = encode(len(places), entries[key].kind)
    if tokenizer.table.model == "gpt2":
        entries["tokenizer.ggml.merges"] = encode(_merges(tokenizer, new_ids))
    return entries


def _merges(tokenizer: Tokenizer, new_ids: NDArray[np.int64]) -> list[str]:
    """The merges whose parts and result are kept."""
    stay = {tokenizer.table.texts[token] for token in np.flatnonzero(new_ids >= 0)}

    def stays(merge: str) -> bool:
        left, _, right = merge.partition(" ")
        # A merge whose result is not a token spells its parts in bytes; such rare merges are kept.
        return left in stay and right in stay and (left + right in stay or left + right not in tokenizer.ids)

    return [merge for merge in tokenizer.table.merges if stays(merge)]


def _tensors(
    tensors: dict[str, Tensor], size: int, places: NDArray[np.intp], path: Path
) -> dict[str, Tensor]:
    pruned = {}
    for name, tensor in tensors.items():
        if name in (*_ROW_PER_TOKEN, *_ELEMENT_PER_TOKEN):
            pruned[name] = _fewer_rows(name, tensor, size, places, path)
        elif size in tensor.shape:
            raise InputError(
                f"{path}: its tensor {name} has {size} rows or columns, one for each token, for an "
                "unknown purpose; prune a model whose head is token_embd or output"
            )
        else:
            pruned[name] = tensor
    return pruned


def _fewer_rows(name: str, tensor: Tensor, size: int, places: NDArray[np.intp], path: Path) -> Tensor:
    if len(tensor.shape) not in (1, 2) or tensor.shape[-1] != size:
        shape = "×".join(map(str, tensor.shape))
        raise InputError(
            f"{path}: {name} has the shape {shape} for {size} tokens; use another file of this model"
        )
    try:
        rows = tensor.data.reshape(size, -1) if len(tensor.shape) == 1 else rows_of(tensor)
    except ValueError:
        raise InputError(
            f"{path}: the type {tensor.kind} of its tensor {name} is not supported; quantise the model again"
        ) from None
    return Tensor(tensor.kind, (*tensor.shape[:-1], len(places)), rows[places].reshape(-1))
