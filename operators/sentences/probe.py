"""Boundary scorer: a probe on the states of a translation model's encoder (Hewitt and Liang 2019).

The texts before and after a pause are encoded twice: as one sentence, with no mark between them and a small
letter, and as two sentences. A perceptron with one hidden layer then scores the boundary. From each encoding
it gets six vectors: the states of the last token before the boundary, of the two after it and of the end
token, and the means of the states before the boundary and after it. Its weights fit only one encoder.
"""

from collections.abc import Callable, Sequence
from importlib.resources import files
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from operators.sentences.seam import BoundaryScores, has_own_capitals
from operators.sentences.words import parted

Floats = NDArray[np.floating[Any]]
#: SHA-256 of the encoder on which the English probe was trained: Firefox's, English to Portuguese.
ENGLISH_ENCODER = "d968735704c75e33c2e183b9241f14c0b2a560d01d88a2728e5c0119a4d7fb22"
#: Maximum number of words encoded before the boundary, and after it.
_BEFORE, _AFTER = 40, 6


class Encoder(NamedTuple):
    #: Token ids of a text that begins with a space.
    tokenize: Callable[[str], list[int]]
    #: States, (tokens + 1, width), of the tokens and the end token after them. Raises `ModelError`.
    read: Callable[[Sequence[int]], Floats]


class Probe:
    """A `BoundaryScorer`, for any thread.

    Args:
        hidden: Weights of the hidden layer, (12 · width, units), and its biases, (units,).
        output: Weights of the `BoundaryScores`, (units, 3), and its biases, (3,).
    """

    def __init__(
        self, encoder: Encoder, hidden: tuple[Floats, Floats], output: tuple[Floats, Floats]
    ) -> None:
        self._encoder = encoder
        self._hidden = hidden
        self._output = output

    def __call__(self, before: str, after: str) -> BoundaryScores:
        """Score a boundary; ``before`` has no mark at its end. Raises `ModelError` if the encoder fails."""
        stem = " ".join(before.split()[-_BEFORE:])
        words = parted(" ".join(after.split()[:_AFTER]))[0]
        small = words if has_own_capitals(words.partition(" ")[0]) else words[:1].lower() + words[1:]
        seen = np.concatenate(
            [self._read(stem, small), self._read(f"{stem}.", words[:1].upper() + words[1:])]
        )
        weights, biases = self._hidden
        units = np.maximum(seen @ weights + biases, 0)
        weights, biases = self._output
        return BoundaryScores(*map(float, units @ weights + biases))

    def _read(self, before: str, after: str) -> Floats:
        stem = self._encoder.tokenize(f" {before}")
        return pooled(self._encoder.read([*stem, *self._encoder.tokenize(f" {after}")]), len(stem))


def pooled(states: Floats, boundary: int) -> Floats:
    """The input of a probe, (6 · width,), from the states of a text; ``boundary`` of them are before it."""
    second = states[min(boundary + 1, len(states) - 1)]
    means = states[:boundary].mean(axis=0), states[boundary:].mean(axis=0)
    return np.concatenate([states[boundary - 1], states[boundary], second, states[-1], *means])


def english_probe(encoder: Encoder) -> Probe:
    stored = files("operators.sentences").joinpath("english.npz").read_bytes()
    with np.load(BytesIO(stored)) as arrays:
        hidden, biases, output, more = (arrays[name].astype(np.float32) for name in arrays.files)
    return Probe(encoder, (hidden, biases), (output, more))
