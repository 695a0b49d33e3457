"""Says where sentences end by the states of a translation model's encoder (a probe; Hewitt and Liang 2019).

The text before a pause and what is heard behind it are read as one sentence, with no mark between them and a
small letter. A perceptron with one hidden layer then says whether they are one, by six vectors: the states of
the last token before the pause, of the two behind it and of the end token, and the means of the states before
the pause and behind it. Its weights fit one encoder only.
"""

from collections.abc import Callable, Sequence
from importlib.resources import files
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from operators.sentences.seam import Opinion, has_own_capitals

Floats = NDArray[np.floating[Any]]
#: SHA-256 of the encoder whose states English sentences are judged by: Firefox's for English to Portuguese.
ENGLISH_ENCODER = "d968735704c75e33c2e183b9241f14c0b2a560d01d88a2728e5c0119a4d7fb22"
#: Words before the pause that are read, and words behind it.
_BEFORE, _AFTER = 40, 6


class Encoder(NamedTuple):
    """What a probe needs of a model."""

    #: Token ids of a text that begins with a space.
    tokenize: Callable[[str], list[int]]
    #: States, (tokens + 1, width), of the tokens and the end token behind them. Raises `ModelTrouble`.
    read: Callable[[Sequence[int]], Floats]


class Probe:
    """A `Judge`, on any thread on which its encoder can be called.

    Args:
        encoder: Reads the text.
        hidden: Weights of the hidden layer, (6 · width, units), and its biases, (units,).
        output: Weights of the `Opinion`, (units, 3), and its biases, (3,).
    """

    def __init__(
        self, encoder: Encoder, hidden: tuple[Floats, Floats], output: tuple[Floats, Floats]
    ) -> None:
        self._encoder = encoder
        self._hidden = hidden
        self._output = output

    def __call__(self, before: str, after: str) -> Opinion:
        """Judge a seam; ``before`` has no mark at its end. Raises `ModelTrouble` if the encoder fails."""
        stem = self._encoder.tokenize(" " + " ".join(before.split()[-_BEFORE:]))
        following = self._encoder.tokenize(" " + _without_capital(" ".join(after.split()[:_AFTER])))
        seen = pooled(self._encoder.read([*stem, *following]), len(stem))
        hidden = np.maximum(seen @ self._hidden[0] + self._hidden[1], 0)
        return Opinion(*(float(one) for one in hidden @ self._output[0] + self._output[1]))


def english_probe(encoder: Encoder) -> Probe:
    """The probe for English, on the encoder `ENGLISH_ENCODER`."""
    with np.load(BytesIO(files("operators.sentences").joinpath("english.npz").read_bytes())) as stored:
        hidden, output = (
            (stored[f"{layer}_weights"].astype(np.float32), stored[f"{layer}_biases"])
            for layer in ("hidden", "output")
        )
    return Probe(encoder, hidden, output)


def pooled(states: Floats, seam: int) -> Floats:
    """The vectors that a probe sees, (6 · width,), of all states and the number of tokens before the seam."""
    second = states[min(seam + 1, len(states) - 1)]
    behind = states[seam:].mean(axis=0)
    return np.concatenate(
        [states[seam - 1], states[seam], second, states[-1], states[:seam].mean(axis=0), behind]
    )


def _without_capital(text: str) -> str:
    first = text.partition(" ")[0]
    return text if has_own_capitals(first) else text[:1].lower() + text[1:]
