"""Firefox Translations' models (Mozilla; trained by distillation, Bogoychev et al. 2020) in ONNX Runtime.

A folder contains the files with Mozilla's names: ``model.*.bin``, and ``vocab.*.spm``, or ``srcvocab.*.spm``
and ``trgvocab.*.spm`` if the vocabulary is not shared. A draft is verified in one pass although the decoder
is recurrent (`operators.seq2seq.ssru`). The state after a token has a few kilobytes, so the states of all
tokens are kept, and an output can be cut anywhere.
"""

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from operators.decoding.forward import Logits
from operators.errors import InputError, is_folder
from operators.models.onnx_graphs import OnnxGraph, own_thread
from operators.seq2seq.intgemm import Floats, Matrix, Size, Weights
from operators.seq2seq.ssru import decoder_graph, encoder_graph
from operators.seq2seq.store import DecoderState, EncodedSource
from operators.seq2seq.vocabulary import PieceVocabulary

_PAIR = re.compile(r"model\.([a-z]{2})([a-z]{2})\..*")
_END, _UNKNOWN = 0, 1
#: Maximum tokens of an output in one decoder call: the sums of the recurrence grow with their square.
_TOGETHER = 32
_CELLS = "cells"


def is_firefox(path: Path) -> bool:
    return is_folder(path) and any(path.glob("model.*.bin"))


def only(path: Path, *patterns: str) -> Path:
    """The first file in a folder that matches one of the patterns. Raises `InputError` if there is none."""
    found = [file for pattern in patterns for file in sorted(path.glob(pattern))]
    if not found:
        raise InputError(f"{path}: it holds no {patterns[0]}; fetch the model again")
    return found[0]


class FirefoxModel:
    """The weights and the vocabularies of one model, as an `EncoderDecoder`."""

    is_causal = True
    can_shift = False
    # Only the length of the training texts limits a text.
    positions = 1024

    def __init__(self, folder: Path, threads: int) -> None:
        """Load the files in a folder; raises `InputError` if they are not those of such a model."""
        file = only(folder, "model.*.bin")
        weights = self.weights = Weights(file)
        self.path = folder
        self.files: tuple[Path, ...] = (file,)
        named = _PAIR.fullmatch(file.name)
        self.languages = (named[1], named[2]) if named else (None, None)
        size = self.size = _size(weights)
        self.vocabulary_size = size.target_tokens
        # Not a token of either vocabulary: the decoder begins with an embedding of zeros.
        self.start = max(size.source_tokens, size.target_tokens)
        self.ends: tuple[int, ...] = (_END,)
        pieces, written = (only(folder, f"{side}vocab.*.spm", "vocab.*.spm") for side in ("src", "trg"))
        source = PieceVocabulary(pieces, self.ends)
        self.vocabulary = source if written == pieces else PieceVocabulary(written, self.ends, source=source)
        executor = own_thread()
        self._encoder, self._decoder = (
            OnnxGraph(file, threads, executor, graph(weights, size), keeps_memory=False)
            for graph in (encoder_graph, decoder_graph)
        )
        self._target = _embeddings(weights, "decoder_Wemb", 1 + self.start)
        self._source = _embeddings(weights, "encoder_Wemb") if "encoder_Wemb" in weights else self._target
        #: The sinusoids of positions, (positions, width).
        self.places = _places(self.positions, size.width)
        self._causal = _causal(_TOGETHER)
        self._first = np.zeros((1, size.width * size.decoder_layers), np.float32)

    def read(self, source: Sequence[int]) -> EncodedSource:
        made = self._encoder.run({"x": self._embed(self._source, source, 0)})
        return EncodedSource(len(source), made["states"], {"memory": made["memory"]})

    def write(
        self, read: EncodedSource, held: DecoderState, tokens: Sequence[int], rows: int
    ) -> tuple[Logits, DecoderState]:
        # The first state, before all tokens, is 0.
        cells = held[_CELLS][0, 0] if held else self._first[:0]
        found, unasked = list[Logits](), len(tokens) - rows
        for first in range(0, len(tokens), _TOGETHER):
            some = tokens[first : first + _TOGETHER]
            made = self._decoder.run({
                "x": self._embed(self._target, some, len(cells)),
                "cells": cells[-1:] if len(cells) else self._first,
                "causal": self._causal[: len(some), : len(some)],
                "memory": read.cross["memory"],
                "rows": np.arange(max(0, unasked - first), len(some)),
            })  # fmt: skip
            cells = np.concatenate((cells, made["all_cells"]))
            found.append(made["logits"])
        logits: Logits = found[0] if len(found) == 1 else np.concatenate(found)
        logits[:, _UNKNOWN] = -np.inf
        return logits, {_CELLS: cells[None, None]}

    def _embed(self, embeddings: Matrix, tokens: Sequence[int], first: int) -> Floats:
        """Embeddings of tokens from position ``first`` on, (tokens, width)."""
        rows: Floats = embeddings.values[np.array(tokens)] * np.float32(
            embeddings.scale * self.size.width**0.5
        )
        rows += self.places[first : first + len(tokens)]
        return rows


def _size(weights: Weights) -> Size:
    """The dimensions of a model. Raises `InputError` for a model of another kind."""
    said = weights.settings()
    source, target = (_embeddings(weights, name).values.shape for name in ("encoder_Wemb", "decoder_Wemb"))
    wanted = {"type": "transformer", "dec-cell": "ssru", "transformer-postprocess": "dan"}
    other = [f"{name}: {said.get(name)}" for name, kind in wanted.items() if said.get(name) != kind]
    try:
        heads, encoder, decoder = (
            int(said[name]) for name in ("transformer-heads", "enc-depth", "dec-depth")
        )
    except (KeyError, ValueError):
        other.append("its dimensions are missing")
        heads = encoder = decoder = 1
    if other or source[1] % heads:
        raise InputError(
            f"{weights.path}: this is not a model of Firefox Translations ({', '.join(other)}); "
            "choose another model"
        )
    return Size(source[1], heads, encoder, decoder, source[0], target[0])


def _embeddings(weights: Weights, name: str, tokens: int = 0) -> Matrix:
    values, scale = weights.matrix(name if name in weights else "Wemb", is_embedding=True)
    # A copy, independent of the mapped file.
    return Matrix(np.pad(values, ((0, max(0, tokens - len(values))), (0, 0))), scale)


def _places(count: int, width: int) -> Floats:
    """Sinusoids of positions: the sines first, then the cosines, as in Marian."""
    frequencies = 10_000.0 ** (-np.arange(width // 2) / (width // 2 - 1))
    angles = np.arange(count)[:, None] * frequencies
    return np.concatenate((np.sin(angles), np.cos(angles)), axis=1).astype(np.float32)


def _causal(count: int) -> Floats:
    """The causal attention mask: -inf for later tokens, (count, count, 1)."""
    return np.where(np.tri(count, dtype=bool), np.float32(0), np.float32(-np.inf))[:, :, None]
