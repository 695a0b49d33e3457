"""An endless stream of examples from several corpora, each with its own share.

A segment of speech contains several short sentences, and an unfinished one may end within any of them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from operators.training.noise import Noise, NoisySource, pieces_of
from operators.training.pairs import Pair, joined


@dataclass(frozen=True, slots=True)
class Example:
    """A source, and the answer to learn."""

    source: str
    target: str
    is_final: bool


def speech(
    pairs: Sequence[Pair],
    rng: Random,
    *,
    max_sentences: int = 6,
    max_words: int = 60,
    separator: str = " ",
) -> Iterator[Pair]:
    """All pairs once, in random order, joined into segments of 1 to `max_sentences` sentences.

    All numbers of sentences are equally likely; a segment has at most `max_words` source words, unless a
    single sentence has more.
    """
    order = list(range(len(pairs)))
    rng.shuffle(order)
    segment: list[Pair] = []
    words, wanted = 0, rng.randint(1, max_sentences)
    for number in order:
        length = len(pairs[number].source)
        if segment and (len(segment) == wanted or words + length > max_words):
            yield joined(segment, separator)
            segment, words, wanted = [], 0, rng.randint(1, max_sentences)
        segment.append(pairs[number])
        words += length
    if segment:
        yield joined(segment, separator)


def example(pair: Pair, rng: Random, *, prefixes: float = 0.5, noise: Noise | None = None) -> Example:
    """One example of a pair: with probability `prefixes` a prefix of uniformly random length, else all.

    If noise changes the last word of a prefix, the target is that of the words before it. With noise, some
    finals are only a piece of their sentence, as recognisers end segments at pauses.
    """
    is_final = rng.random() >= prefixes
    if is_final and noise is not None and rng.random() < noise.pieces:
        pair = rng.choice(pieces_of(pair) or [pair])
    length = len(pair.source) if is_final else rng.randint(1, len(pair.source))
    words = pair.source[:length]
    heard = NoisySource(" ".join(words), length) if noise is None else noise(words, is_final, rng)
    return Example(heard.text, pair.prefix(heard.sure), is_final)


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
