"""Files of proposal heads: GGUF with the matrices of each head and the tokens that heads choose from."""

from collections.abc import Mapping, Sequence
from itertools import takewhile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from connectors.models.gguf import Entry, GgufFile, Tensor, count_of, encode, matrix_of, read_gguf
from operators.errors import InputError
from operators.models.quantize import F16, quantize
from operators.research.heads import Head, Heads, Matrix

#: Maximum number of heads of a model; the authors tried ten.
MAX_HEADS = 16
_TYPE = "heads"
_WIDTH, _VOCABULARY, _TOKENS = (f"surtitle.heads.{name}" for name in ("width", "vocabulary", "tokens"))


def heads_file(
    heads: Sequence[Head], tokens: NDArray[np.int32], model: GgufFile, entries: Mapping[str, Entry]
) -> GgufFile:
    """The content of a GGUF file for heads.

    Args:
        heads: in the order of the positions that they predict.
        tokens: the ids that they can predict, the most frequent ones first.
    """
    tensors = {}
    for place, head in enumerate(heads, start=1):
        for name, matrix in zip(_names(place), head, strict=True):
            tensors[name] = Tensor(F16, matrix.shape[::-1], quantize(matrix, F16))
    header = {
        "general.architecture": encode(model.text("general.architecture")),
        "general.type": encode(_TYPE),
        _WIDTH: encode(_width(model)),
        _VOCABULARY: encode(_vocabulary(model)),
        _TOKENS: encode(tokens.astype(np.int32)),
        **entries,
    }
    return GgufFile(header, tensors)


def read_heads(path: Path, model_path: Path) -> Heads:
    """Read the heads in ``path`` for the model in the file ``model_path``.

    Raises `InputError` if there are none, they are damaged, or they belong to another model.
    """
    file, model = read_gguf(path), read_gguf(model_path)
    if file.text("general.type") != _TYPE:
        raise InputError(
            f"{path}: it contains no proposal heads; give a file written by 'surtitle model heads'"
        )
    _check_fits(file, model, path, model_path)
    tokens = file.value(_TOKENS)
    ids = np.asarray(tokens if isinstance(tokens, np.ndarray) else [], np.int32)
    places = takewhile(lambda place: set(_names(place)) <= set(file.tensors), range(1, MAX_HEADS + 1))
    heads = [Head(*(matrix_of(file, name, path) for name in _names(place))) for place in places]
    are_ids = 0 < len(ids) == len(np.unique(ids)) and ids.min() >= 0 and ids.max() < _vocabulary(model)
    are_all = 0 < 2 * len(heads) == len(file.tensors)
    if not are_ids or not are_all or not all(_is_sound(one, model) for one in heads):
        raise InputError(f"{path}: these heads are damaged: fetch or train them again")
    return Heads(heads, ids, output_rows(model, model_path, ids))


def output_rows(model: GgufFile, path: Path, tokens: NDArray[np.int32] | slice) -> Matrix:
    """The rows of a model's output matrix for some tokens. Raises `InputError` if it cannot be read."""
    name = "output.weight" if "output.weight" in model.tensors else "token_embd.weight"
    return matrix_of(model, name, path, tokens)


def _check_fits(file: GgufFile, model: GgufFile, path: Path, model_path: Path) -> None:
    has, wants = (
        f"a {architecture} model of width {width} with {size} tokens"
        for architecture, width, size in (
            (file.text("general.architecture"), file.value(_WIDTH), file.value(_VOCABULARY)),
            (model.text("general.architecture"), _width(model), _vocabulary(model)),
        )
    )
    if has != wants:
        raise InputError(
            f"{path}: these heads are for {has}, and {model_path.name} is {wants}; "
            "train some for it with 'surtitle model heads'"
        )


def _names(place: int) -> tuple[str, str]:
    return f"head.{place}.inner.weight", f"head.{place}.outer.weight"


def _width(model: GgufFile) -> int:
    width = model.value(f"{model.text('general.architecture')}.embedding_length")
    return width if isinstance(width, int) else 0


def _vocabulary(model: GgufFile) -> int:
    return count_of(model.entries.get("tokenizer.ggml.tokens"))


def _is_sound(head: Head, model: GgufFile) -> bool:
    width = _width(model)
    return (
        head.inner.shape[1] == width
        and head.outer.shape == head.inner.shape[::-1]
        and bool(np.isfinite(head.inner).all() and np.isfinite(head.outer).all())
    )
