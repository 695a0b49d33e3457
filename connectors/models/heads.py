"""Files of proposal heads: GGUF with the matrices of each head and the tokens that heads choose from.

The model itself is a GGUF file or a folder of Firefox's: `output_layer` reads its output layer for the heads.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from connectors.models.gguf import Entry, GgufFile, Tensor, count_of, encode, matrix_of, read_gguf
from operators.errors import InputError
from operators.models.quantize import F16, quantize
from operators.research.heads import Head, Heads, OutputRows, without_bias
from operators.seq2seq.firefox import is_firefox, only
from operators.seq2seq.intgemm import Weights

#: Maximum number of heads of a model; the authors tried ten.
MAX_HEADS = 16
_TYPE = "heads"
_WIDTH, _VOCABULARY, _TOKENS = (f"surtitle.heads.{name}" for name in ("width", "vocabulary", "tokens"))
#: The architecture of Firefox's models in GGUF files of heads.
_SSRU = "ssru"


class OutputLayer(NamedTuple):
    """The output layer of a model: a matrix with a row for each token of its vocabulary."""

    architecture: str
    #: Size of a hidden state, and number of tokens.
    width: int
    vocabulary: int
    #: Reads the rows of some tokens. Raises `InputError` if they cannot be read.
    rows: Callable[[NDArray[np.int32]], OutputRows]

    def __str__(self) -> str:
        return f"a {self.architecture} model of width {self.width} with {self.vocabulary} tokens"


def output_layer(path: Path) -> OutputLayer:
    """The output layer of a GGUF file or of a folder of Firefox's; raises `InputError` for anything else."""
    if is_firefox(path):
        return _of_firefox(Weights(only(path, "model.*.bin")))
    model = read_gguf(path)
    architecture = model.text("general.architecture")
    width = model.value(f"{architecture}.embedding_length")
    name = "output.weight" if "output.weight" in model.tensors else "token_embd.weight"
    return OutputLayer(
        architecture,
        width if isinstance(width, int) else 0,
        count_of(model.entries.get("tokenizer.ggml.tokens")),
        lambda tokens: without_bias(tokens, matrix_of(model, name, path, tokens)),
    )


def _of_firefox(weights: Weights) -> OutputLayer:
    name = "decoder_Wemb" if "decoder_Wemb" in weights else "Wemb"
    values, scale = weights.matrix(name, is_embedding=True)
    bias = weights.floats("decoder_ff_logit_out_b")
    return OutputLayer(
        _SSRU, values.shape[1], len(values),
        lambda tokens: OutputRows(tokens, values[tokens] * np.float32(scale), bias[tokens]),
    )  # fmt: skip


def heads_file(
    heads: Sequence[Head], tokens: NDArray[np.int32], layer: OutputLayer, entries: Mapping[str, Entry]
) -> GgufFile:
    """The content of a GGUF file for heads.

    Args:
        heads: in the order of the positions that they predict.
        tokens: the ids that they can predict, the most frequent ones first.
        layer: the output layer of their model.
        entries: further entries of the header.
    """
    tensors = {}
    for place, head in enumerate(heads, start=1):
        for name, matrix in zip(_names(place), head, strict=True):
            tensors[name] = Tensor(F16, matrix.shape[::-1], quantize(matrix, F16))
    header = {
        "general.architecture": encode(layer.architecture),
        "general.type": encode(_TYPE),
        _WIDTH: encode(layer.width),
        _VOCABULARY: encode(layer.vocabulary),
        _TOKENS: encode(tokens.astype(np.int32)),
        **entries,
    }
    return GgufFile(header, tensors)


def read_heads(path: Path, model_path: Path) -> Heads:
    """Read the heads in ``path`` for the model in the file or folder ``model_path``.

    Raises `InputError` if there are none, they are damaged, or they belong to another model.
    """
    file, layer = read_gguf(path), output_layer(model_path)
    if file.text("general.type") != _TYPE:
        raise InputError(
            f"{path}: it contains no proposal heads; give a file written by 'surtitle model heads'"
        )
    has = f"a {file.text('general.architecture')} model of width {file.value(_WIDTH)} with "
    if f"{has}{file.value(_VOCABULARY)} tokens" != str(layer):
        raise InputError(
            f"{path}: these heads are for {has}{file.value(_VOCABULARY)} tokens, and {model_path.name} is "
            f"{layer}; train some for it with 'surtitle model heads'"
        )
    tokens = file.value(_TOKENS)
    ids = np.asarray(tokens if isinstance(tokens, np.ndarray) else [], np.int32)
    places = takewhile(lambda place: set(_names(place)) <= set(file.tensors), range(1, MAX_HEADS + 1))
    heads = [Head(*(matrix_of(file, name, path) for name in _names(place))) for place in places]
    are_ids = 0 < len(ids) == len(np.unique(ids)) and ids.min() >= 0 and ids.max() < layer.vocabulary
    are_all = 0 < 2 * len(heads) == len(file.tensors)
    if not are_ids or not are_all or not all(_is_sound(one, layer.width) for one in heads):
        raise InputError(f"{path}: these heads are damaged: fetch or train them again")
    return Heads(heads, layer.rows(ids))


def _names(place: int) -> tuple[str, str]:
    return f"head.{place}.inner.weight", f"head.{place}.outer.weight"


def _is_sound(head: Head, width: int) -> bool:
    return (
        head.inner.shape[1] == width
        and head.outer.shape == head.inner.shape[::-1]
        and bool(np.isfinite(head.inner).all() and np.isfinite(head.outer).all())
    )
