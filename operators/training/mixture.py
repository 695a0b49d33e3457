"""An endless stream of examples from several corpora, each with its own share."""

from collections.abc import Iterator, Sequence
from random import Random
from typing import NamedTuple

from operators.training.noise import Noise
from operators.training.pairs import Pair
from operators.training.speech import Example, example, speech


class Corpus(NamedTuple):
    """Pairs, and their share of segments relative to the other corpora."""

    pairs: Sequence[Pair]
    share: float


def mixture(
    corpora: Sequence[Corpus], rng: Random, *, prefixes: float, noise: Noise | None, separator: str = " "
) -> Iterator[Example]:
    """Endless examples. A corpus that is used up starts again in another order."""
    streams = [_endless(corpus.pairs, rng, separator) for corpus in corpora]
    shares = [corpus.share for corpus in corpora]
    while True:
        pair = next(rng.choices(streams, shares)[0])
        yield example(pair, rng, prefixes=prefixes, noise=noise)


def _endless(pairs: Sequence[Pair], rng: Random, separator: str) -> Iterator[Pair]:
    while True:
        yield from speech(pairs, rng, separator=separator)
