"""Firefox Translations' models (Mozilla; trained by distillation, Bogoychev et al. 2020) in ONNX Runtime.

A folder holds the files under Mozilla's names: ``model.*.bin``, and ``vocab.*.spm``, or ``srcvocab.*.spm``
and ``trgvocab.*.spm`` where the vocabulary is not shared. A draft is verified in one pass although the
decoder is recurrent (`operators.seq2seq.ssru`), and the state behind a token is a few kilobytes, so an output
can be cut anywhere.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np

from operators.decoding.forward import NO_ROWS, Logits
from operators.errors import InputError, is_folder
from operators.models.onnx_graphs import OnnxGraph, own_thread
from operators.seq2seq.contract import Held, Read, Writing
from operators.seq2seq.intgemm import Floats, Matrix, Weights
from operators.seq2seq.ssru import Size, decoder_graph, encoder_graph
from operators.seq2seq.vocabulary import PieceVocabulary

_PAIR = re.compile(r"model\.([a-z]{2})([a-z]{2})\..*")
_END, _UNKNOWN = 0, 1
#: Tokens of an output that pass the decoder together: the sums of the recurrence grow with their square.
_TOGETHER = 32
_CELLS = "cells"


class FirefoxFolder(NamedTuple):
    """The files of a model."""

    path: Path
    weights: Path
    source: Path
    target: Path


def is_firefox(path: Path) -> bool:
    """Whether a path leads to the folder of such a model."""
    return is_folder(path) and any(path.glob("model.*.bin"))


def read_firefox(path: Path) -> FirefoxFolder:
    """What is in the folder. Raises `InputError` if it is not complete."""

    def only(*patterns: str) -> Path:
        for pattern in patterns:
            if found := sorted(path.glob(pattern)):
                return found[0]
        raise InputError(f"{path}: it holds no {patterns[0]}; fetch the model again")

    source, target = (only(f"{side}vocab.*.spm", "vocab.*.spm") for side in ("src", "trg"))
    return FirefoxFolder(path, only("model.*.bin"), source, target)


class FirefoxModel:
    """The weights and the vocabularies of one model, as an `EncoderDecoder`."""

    is_recurrent = False
    is_causal = True
    can_shift = False
    shares_passes = True
    architecture = "Firefox Translations"
    # There is no limit but that of training.
    positions = 1024

    def __init__(self, folder: FirefoxFolder, threads: int) -> None:
        """Load the files; raises `InputError` if they are not those of such a model."""
        weights = Weights(folder.weights)
        self.path = folder.path
        self.files: tuple[Path, ...] = (folder.weights,)
        self.languages = _languages(folder.weights)
        size = self._size = _size(weights)
        self.vocabulary_size = size.target_tokens
        # No token of either vocabulary: the decoder begins with an embedding of zeros.
        self.start = max(size.source_tokens, size.target_tokens)
        self.ends: tuple[int, ...] = (_END,)
        source = PieceVocabulary(folder.source, self.ends)
        is_shared = folder.target == folder.source
        self.vocabulary = source if is_shared else PieceVocabulary(folder.target, self.ends, source=source)
        #: Bytes that are held for a token.
        self.token_bytes = 4 * size.width * size.decoder_layers
        executor = own_thread()
        self._encoder, self._decoder = (
            OnnxGraph(folder.weights, threads, executor, graph(weights, size), keeps_memory=False)
            for graph in (encoder_graph, decoder_graph)
        )
        self._target = _embeddings(weights, "decoder_Wemb")
        self._source = _embeddings(weights, "encoder_Wemb") if "encoder_Wemb" in weights else self._target

    def metadata(self, key: str) -> str | None:
        """As of a GGUF's header: the name."""
        return {"general.name": self.path.name, "general.architecture": self.architecture}.get(key)

    def read(self, sources: Sequence[Sequence[int]]) -> list[Read]:
        """Read sources together, each with its end token. Raises `ModelTrouble` if ONNX Runtime fails."""
        longest = max(map(len, sources))
        x = np.zeros((len(sources), longest, self._size.width), np.float32)
        for row, source in zip(x, sources, strict=True):
            row[: len(source)] = self._embed(self._source, source)
        x += _places(0, longest, self._size.width)
        made = self._encoder.run({"x": x, "mask": _mask(sources, longest)})
        return [
            Read(len(one), states[: len(one)], {"memory": memory[: len(one)]})
            for one, states, memory in zip(sources, made["states"], made["memory"], strict=True)
        ]

    def write(self, parts: Sequence[Writing]) -> list[tuple[Logits, Held]]:
        """Write parts of about the same length together. Raises `ModelTrouble` if ONNX Runtime fails."""
        answers: list[tuple[Logits, Held]] = [(NO_ROWS, {})] * len(parts)
        for places in _alike(parts):
            made = self._write([parts[place] for place in places])
            for place, one in zip(places, made, strict=True):
                answers[place] = one
        return answers

    def _write(self, parts: Sequence[Writing]) -> list[tuple[Logits, Held]]:
        width = self._size.width * self._size.decoder_layers
        cells = [part.held[_CELLS][0, 0] if part.held else np.zeros((0, width), np.float32) for part in parts]
        rows: list[list[Logits]] = [[] for _ in parts]
        memory, mask = _padded([part.read for part in parts])
        longest = max(len(part.tokens) for part in parts)
        for first in range(0, longest, _TOGETHER):
            self._pass(parts, first, (memory, mask), cells, rows)
        return [
            (np.concatenate(logits) if logits else NO_ROWS, {_CELLS: all_cells[None, None]})
            for logits, all_cells in zip(rows, cells, strict=True)
        ]

    def _pass(
        self,
        parts: Sequence[Writing],
        first: int,
        heard: tuple[Floats, Floats],
        cells: list[Floats],
        rows: list[list[Logits]],
    ) -> None:
        """Evaluate the tokens of each part from ``first`` on; append to its cells and rows."""
        new = [part.tokens[first : first + _TOGETHER] for part in parts]
        longest, width = max(map(len, new)), self._size.width
        x = np.zeros((len(parts), longest, width), np.float32)
        before = np.zeros((len(parts), cells[0].shape[1]), np.float32)
        asked: list[int] = []
        counts: list[int] = []
        for number, (part, tokens) in enumerate(zip(parts, new, strict=True)):
            written = len(cells[number])
            x[number, : len(tokens)] = self._embed(self._target, tokens)
            x[number] += _places(written, longest, width)
            if written:
                before[number] = cells[number][-1]
            skipped = max(0, len(part.tokens) - part.rows - first)
            wanted = range(skipped, len(tokens))
            asked += [number * longest + place for place in wanted]
            counts.append(len(wanted))
        made = self._decoder.run({
            "x": x, "cells": before, "causal": _causal(longest), "memory": heard[0], "mask": heard[1],
            "rows": np.array(asked, np.int64),
        })  # fmt: skip
        logits = made["logits"]
        logits[:, _UNKNOWN] = -np.inf
        for number, (tokens, its) in enumerate(
            zip(new, np.split(logits, np.cumsum(counts)[:-1]), strict=True)
        ):
            cells[number] = np.concatenate((cells[number], made["all_cells"][number, : len(tokens)]))
            if len(its):
                rows[number].append(its)

    def _embed(self, embeddings: Matrix, tokens: Sequence[int]) -> Floats:
        known = np.array([0 if one == self.start else one for one in tokens], np.int64)
        rows = embeddings.values[known].astype(np.float32)
        rows *= embeddings.scale * self._size.width**0.5
        rows[[one == self.start for one in tokens]] = 0
        return rows


def _languages(weights: Path) -> tuple[str | None, str | None]:
    """The codes in the name of a file, if there are two of the usual length."""
    found = _PAIR.fullmatch(weights.name)
    return (found[1], found[2]) if found else (None, None)


def _size(weights: Weights) -> Size:
    """The measures of a model. Raises `InputError` if it is one of another kind."""
    said = weights.settings()
    source, target = (_embeddings(weights, name).values.shape for name in ("encoder_Wemb", "decoder_Wemb"))
    wanted = {"type": "transformer", "dec-cell": "ssru", "transformer-postprocess": "dan"}
    other = [f"{name}: {said.get(name)}" for name, kind in wanted.items() if said.get(name) != kind]
    try:
        heads, encoder, decoder = (
            int(said[name]) for name in ("transformer-heads", "enc-depth", "dec-depth")
        )
    except (KeyError, ValueError):
        other.append("its measures are missing")
        heads = encoder = decoder = 1
    if other or source[1] % heads:
        raise InputError(
            f"{weights.path}: this is not a model of Firefox Translations ({', '.join(other)}); "
            "choose another model"
        )
    return Size(source[1], heads, encoder, decoder, source[0], target[0])


def _embeddings(weights: Weights, name: str) -> Matrix:
    values, scale = weights.matrix(name if name in weights else "Wemb", is_embedding=True)
    # A copy, so that the file need not stay mapped.
    return Matrix(values.copy(), scale)


def _places(first: int, count: int, width: int) -> Floats:
    """Sinusoids of positions: the sines first, then the cosines, as Marian has them."""
    frequencies = 10_000.0 ** (-np.arange(width // 2) / (width // 2 - 1))
    angles = np.arange(first, first + count)[:, None] * frequencies
    return np.concatenate((np.sin(angles), np.cos(angles)), axis=1).astype(np.float32)


def _mask(sources: Sequence[Sequence[int]] | Sequence[int], longest: int) -> Floats:
    """What is added to attention's scores, (batch, 1, 1, longest): nothing, or -inf after a source's end."""
    lengths = np.array([one if isinstance(one, int) else len(one) for one in sources])
    is_there = np.arange(longest) < lengths[:, None]
    return np.where(is_there, np.float32(0), np.float32(-np.inf))[:, None, None, :]


def _padded(reads: Sequence[Read]) -> tuple[Floats, Floats]:
    """What was read, as one array, and its mask."""
    longest = max(one.tokens for one in reads)
    memory = np.zeros((len(reads), longest, reads[0].cross["memory"].shape[1]), np.float32)
    for row, one in zip(memory, reads, strict=True):
        row[: one.tokens] = one.cross["memory"]
    return memory, _mask([one.tokens for one in reads], longest)


def _causal(count: int) -> Floats:
    """-inf where a token would see one after it, (count, count, 1)."""
    return np.where(np.tri(count, dtype=bool), np.float32(0), np.float32(-np.inf))[:, :, None]


def _alike(parts: Sequence[Writing]) -> Iterator[list[int]]:
    """Numbers of parts that differ in length by less than half: padding is computed, too."""

    def size(place: int) -> int:
        return len(parts[place].tokens).bit_length()

    for _, places in groupby(sorted(range(len(parts)), key=size), key=size):
        yield list(places)
