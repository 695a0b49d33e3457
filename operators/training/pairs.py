"""Translations with a table of how much of the target each source prefix supports.

Methods of training on prefixes differ only in this table: proportional length, or support by word alignment.
A third method, the model's own translations cut where the source no longer supports them, yields such a table
too.
"""

import sys
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Self

from operators.training.agreement import waits
from operators.training.alignment import align
from operators.training.closing import unclosed
from operators.training.pieces import pieces
from operators.training.prefixes import joined_supports, proportional, supports
from operators.training.sentences import matching


@dataclass(frozen=True, slots=True)
class Pair:
    """A translation, and how much of it each source prefix supports."""

    #: Words.
    source: tuple[str, ...]
    #: Pieces, as `operators.training.pieces` makes them.
    target: tuple[str, ...]
    #: For each number of source words from 1 on, how many target pieces belong to them; the last entry is all
    #: of them.
    supports: tuple[int, ...]

    @classmethod
    def of(cls, source: str, target: str, supports: Sequence[int], language: str) -> Self:
        """A pair of texts; `language` is the target's code.

        Raises:
            ValueError: `supports` does not fit the texts: its length, its order or its last number.
        """
        # Interned: a corpus of millions of words holds each of them once.
        words = tuple(sys.intern(word) for word in source.split())
        parts = tuple(sys.intern(piece) for piece in pieces(target, language))
        table = tuple(supports)
        if (
            not words
            or not parts
            or len(table) != len(words)
            or table[-1] != len(parts)
            or list(table) != sorted(table)
        ):
            raise ValueError("the table does not fit the texts")
        return cls(words, parts, table)

    def prefix(self, words: int) -> str:
        """The target of so many source words, without punctuation that is not heard yet."""
        if words == 0:
            return ""
        length = self.supports[words - 1]
        target = "".join(self.target[:length])
        if words == len(self.source):
            return target
        # What was written once stays: a comma that was heard, and everything that a shorter prefix had.
        since = bisect_left(self.supports, length)
        open_target = unclosed(target, self.source[since:words])
        return open_target if open_target == target else max(open_target, self.prefix(since), key=len)


def joined(pairs: Sequence[Pair], separator: str = " ") -> Pair:
    """Pairs in sequence, with `separator` between their targets: empty for a script without spaces."""
    target: list[str] = []
    for pair in pairs:
        first, *rest = pair.target
        target += [separator + first if target else first, *rest]
    return Pair(
        tuple(word for pair in pairs for word in pair.source),
        tuple(target),
        tuple(joined_supports([pair.supports for pair in pairs])),
    )


def by_proportion(texts: Iterable[tuple[str, str]], language: str) -> list[Pair]:
    """Pairs of source and target texts with prefixes of proportional length; empty texts are left out."""
    pairs = []
    for source, target in texts:
        n, m = len(source.split()), len(pieces(target, language))
        if n and m:
            table = [proportional(n, m, i) for i in range(1, n + 1)]
            pairs.append(Pair.of(source, target, table, language))
    return pairs


def by_alignment(
    texts: Iterable[tuple[str, str]],
    language: str,
    *,
    seed: int = 1,
    progress: Callable[[float], None] | None = None,
) -> list[Pair]:
    """Pairs of source and target texts with prefixes that their words support, by word alignment.

    The alignment is learned only from these texts and needs tens of thousands of them. Parameters and errors
    are those of `operators.training.alignment.align`; `language` is the target's code. Empty texts are left
    out.
    """
    whole = [(source, target) for source, target in texts if source.strip() and target.strip()]
    sides: list[tuple[list[str], list[str]]] = []
    counts = []
    for source, target in whole:
        words, parts = source.split(), pieces(target, language)
        lengths = matching(words, parts)
        counts.append(len(lengths))
        for n, m in lengths:
            sides.append((words[:n], parts[:m]))
            words, parts = words[n:], parts[m:]
    tables = (
        supports(links, len(words), len(parts), waits(parts, language))
        for (words, parts), links in zip(sides, align(sides, seed=seed, progress=progress), strict=True)
    )
    return [
        Pair.of(source, target, joined_supports([next(tables) for _ in range(count)]), language)
        for (source, target), count in zip(whole, counts, strict=True)
    ]
