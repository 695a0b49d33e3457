"""Examples to train on, of the length that speech has: sentences one after another, whole and as prefixes.

A segment of speech holds several short sentences, and an unfinished one may end within any of them.
"""

import sys
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Self

from operators.training.closing import unclosed
from operators.training.noise import Heard, Noise
from operators.training.pieces import pieces
from operators.training.prefixes import joined_supports


@dataclass(frozen=True, slots=True)
class Pair:
    """A translation, and how much of it each prefix of its source supports."""

    #: Words.
    source: tuple[str, ...]
    #: Pieces, as `operators.training.pieces` makes them.
    target: tuple[str, ...]
    #: For each number of source words from 1 on, how many pieces of the target belong to them; the last one
    #: is all.
    supports: tuple[int, ...]

    @classmethod
    def of(cls, source: str, target: str, supports: Sequence[int], language: str) -> Self:
        """A pair of texts; `language` is the target's code.

        Raises
        ------
        ValueError
            `supports` does not fit the texts: its length, its order or its last number.
        """
        # Interned: a corpus of millions of words holds each of them once.
        words = tuple(sys.intern(word) for word in source.split())
        parts = tuple(sys.intern(piece) for piece in pieces(target, language))
        table = tuple(supports)
        if not words or len(table) != len(words) or table[-1] != len(parts) or list(table) != sorted(table):
            raise ValueError("the table does not fit the texts")
        return cls(words, parts, table)

    def prefix(self, words: int) -> str:
        """The target of so many words of the source, without punctuation that is yet to be heard."""
        if words == 0:
            return ""
        length = self.supports[words - 1]
        target = "".join(self.target[:length])
        if words == len(self.source):
            return target
        # From where on the target is this long: a comma that was written once stays.
        return unclosed(target, self.source[bisect_left(self.supports, length) : words])


@dataclass(frozen=True, slots=True)
class Example:
    """What a model is shown, and what it learns to answer."""

    source: str
    target: str
    is_final: bool


def joined(pairs: Sequence[Pair], separator: str = " ") -> Pair:
    """Pairs one after another, `separator` between their targets: none where a script has no spaces."""
    target: list[str] = []
    for pair in pairs:
        first, *rest = pair.target
        target += [separator + first if target else first, *rest]
    return Pair(
        tuple(word for pair in pairs for word in pair.source),
        tuple(target),
        tuple(joined_supports([pair.supports for pair in pairs])),
    )


def speech(
    pairs: Sequence[Pair],
    rng: Random,
    *,
    most_sentences: int = 6,
    most_words: int = 60,
    separator: str = " ",
) -> Iterator[Pair]:
    """All pairs once, in random order, joined to segments of 1 to `most_sentences` sentences.

    Each number of sentences is as probable as any; a segment has at most `most_words` words of the source,
    unless a single sentence has more.
    """
    order = list(range(len(pairs)))
    rng.shuffle(order)
    segment: list[Pair] = []
    words, wanted = 0, rng.randint(1, most_sentences)
    for number in order:
        length = len(pairs[number].source)
        if segment and (len(segment) == wanted or words + length > most_words):
            yield joined(segment, separator)
            segment, words, wanted = [], 0, rng.randint(1, most_sentences)
        segment.append(pairs[number])
        words += length
    if segment:
        yield joined(segment, separator)


def example(pair: Pair, rng: Random, *, prefixes: float = 0.5, noise: Noise | None = None) -> Example:
    """One example of a pair: with probability `prefixes` a prefix, of any length alike, otherwise all.

    Where noise spoils the last word of a prefix, the target is the one of the words before it.
    """
    is_final = rng.random() >= prefixes
    length = len(pair.source) if is_final else rng.randint(1, len(pair.source))
    words = pair.source[:length]
    heard = Heard(" ".join(words), length) if noise is None else noise(words, is_final, rng)
    return Example(heard.text, pair.prefix(heard.sure), is_final)
