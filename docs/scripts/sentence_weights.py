"""Fits the weights of `operators.sentences.seam`: python docs/scripts/sentence_weights.py TEXT…

Each text has paragraphs, one a line, plain or gzipped; of a line with tabs, column ``--column`` counts. They
are cut as in read speech (`spoken_pieces`), half of the seams between sentences and half within. Prints, for
five-fold cross-validation, how many ends and joins are false at each threshold, the weights of all seams, and
how the model's opinion has to be scaled and shifted for today's weights: the calibration of `adapters.py`.
"""

import argparse
import gzip
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray
from spoken_pieces import pieces, sentences, without_mark

import flows.processor  # noqa: F401 - before llama.cpp is loaded
from connectors.models.resolve import resolve_model
from operators.languages import Direction
from operators.models.continuations import open_continuations
from operators.models.llama_model import LlamaModel
from operators.sentences.seam import WITH_MODEL, Features, LanguageModel, Seam, by_rules, features, opinion_of

_DIRECTION = Direction.of("English", "German")
_THRESHOLDS = (-1.5, -1.0, -0.5, 0.0, 0.5)
_FOLDS = 5
# By so much the constant with a model is shifted against the fitted one.
_SHIFT = 0.5
# Words of the next segment that are heard when a seam is judged.
_HEARD = 2

Matrix = NDArray[np.float64]


def measure() -> None:
    """Fit what the command line names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("texts", type=Path, nargs="+")
    parser.add_argument("--column", type=int, default=1)
    parser.add_argument("--model", default="captions")
    parser.add_argument("--seams", type=int, default=600, help="of each kind")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    rng = Random(1)
    all_seams = [one for text in options.texts for one in _seams(_paragraphs(text, options.column), rng)]
    rng.shuffle(all_seams)
    chosen = [
        one
        for ends in (True, False)
        for one in [pair for pair in all_seams if pair[1] is ends][: options.seams]
    ]
    rng.shuffle(chosen)
    ends = np.array([is_end for _, is_end in chosen], np.float64)
    print(f"{len(all_seams)} seams, of which {len(chosen)} are taken")
    _fit("rules alone", _matrix(chosen, None), ends)
    model = open_continuations(LlamaModel(resolve_model(options.model, _DIRECTION)), options.threads)
    seen = _matrix(chosen, model)
    _fit(options.model, seen, ends)
    print("  calibration {:.2f} {:.1f}".format(*_calibration(seen, ends)))


def _paragraphs(path: Path, column: int) -> list[str]:
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    lines = (line.split("\t") for line in raw.decode().splitlines())
    return [line[min(column, len(line) - 1)] for line in lines]


def _seams(paragraphs: Sequence[str], rng: Random) -> Iterator[tuple[Seam, bool]]:
    """The seams that no rule decides, and whether the sentence ends there."""
    spoken = [piece for text in paragraphs for sentence in sentences(text) for piece in pieces(sentence, rng)]
    sentence = earlier = ""
    for piece, following in pairwise(spoken):
        sentence = f"{sentence} {piece.written}".strip()
        heard = " ".join(following.heard.split()[:_HEARD])
        before = without_mark(sentence) + piece.mark
        seam = Seam(before, heard, piece.pause_s, _DIRECTION.source, earlier=earlier)
        if by_rules(seam) is None:
            yield seam, piece.is_last
        if piece.is_last:
            sentence, earlier = "", sentence


def _matrix(seams: Sequence[tuple[Seam, bool]], model: LanguageModel | None) -> Matrix:
    return np.array([features(seam, opinion_of(model, seam)) for seam, _ in seams], np.float64)


def _fit(name: str, seen: Matrix, ends: Matrix) -> None:
    folds = np.arange(len(ends)) % _FOLDS
    odds = np.zeros(len(ends))
    for fold in range(_FOLDS):
        odds[folds == fold] = seen[folds == fold] @ _weights(seen[folds != fold], ends[folds != fold])
    print(f"{name}: false ends, false joins")
    for threshold in _THRESHOLDS:
        false_ends = np.mean(odds[ends == 0] > threshold)
        false_joins = np.mean(odds[ends == 1] <= threshold)
        print(f"  above {threshold:4}: {100 * false_ends:4.1f} %, {100 * false_joins:4.1f} %")
    weights = _weights(seen, ends)
    print(
        "  " + ", ".join(f"{key} {value:.1f}" for key, value in zip(Features._fields, weights, strict=True))
    )


def _calibration(seen: Matrix, ends: Matrix) -> tuple[float, float]:
    """Scale and shift of the opinion, all else as the score weighs it today."""
    today = np.array(WITH_MODEL)
    opinion = Features._fields.index("opinion")
    others = np.where(np.arange(len(today)) == opinion, 0.0, today)
    others[-1] -= _SHIFT
    free = np.stack([seen[:, opinion], np.ones(len(ends))], axis=1)
    weight, constant = _weights(free, ends, known=seen @ others)
    return weight / today[opinion], 10 * constant / today[opinion]


def _weights(seen: Matrix, ends: Matrix, known: Matrix | float = 0.0) -> Matrix:
    """Logistic regression by Newton's method, with a little shrinkage of all but the constant.

    ``known`` are log odds that are added and not fitted.
    """
    weights, shrunk = np.zeros(seen.shape[1]), np.eye(seen.shape[1])
    shrunk[-1, -1] = 1e-6
    for _ in range(30):
        probability = 1 / (1 + np.exp(-seen @ weights - known))
        slope = seen.T @ (probability - ends) + shrunk @ weights
        curve = (seen.T * (probability * (1 - probability))) @ seen + shrunk
        weights -= np.linalg.solve(curve, slope)
    return weights


if __name__ == "__main__":
    measure()
