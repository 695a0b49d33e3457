"""What became of the words that viewers read: how long they stayed, and whether they were ever said.

Update i keeps the first L(i-1) - E(i) tokens of the update before it and has L(i) tokens. An erasure record
contains no more, and this is enough to know when every token came and when it was erased.

Papers on re-translation score only finals, and erasure counts removed tokens, whatever replaced them. So the
words of updates before the final are judged by it.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple


class Step(NamedTuple):
    """One update of a segment, in tokens."""

    #: Tokens of the text.
    length: int
    #: E(i): tokens of the previous text that had to be erased.
    erased: int


class Marks(NamedTuple):
    """What became of the tokens of one update; each field is a number of tokens from its start."""

    #: Tokens that the update before already had; later ones are new.
    kept: int
    #: Tokens that the next update keeps; it erases later ones.
    stands: int
    #: Tokens that no later update erases.
    settled: int


def marks(steps: Sequence[Step]) -> list[Marks]:
    """What became of the tokens of each update of one segment."""
    kept, before = list[int](), 0
    for step in steps:
        # Never more than either text has, as a file may contradict itself.
        kept.append(max(0, min(before - step.erased, step.length)))
        before = step.length
    made: list[Marks] = []
    settled = before
    for own, stands in zip(reversed(kept), [before, *reversed(kept)], strict=False):
        settled = min(stands, settled)
        made.append(Marks(own, stands, settled))
    return made[::-1]


class Support(NamedTuple):
    """Words of updates before the finals."""

    words: int
    #: Words that no final contains.
    unsupported: int


def support(partial: Sequence[str], finals: Sequence[Sequence[str]]) -> Support:
    """How many words of an update the whole source supports: those that one of ``finals`` contains as often.

    Position does not matter, because a longer source may move a word. This is the complement of the clipped
    unigram precision (Papineni et al. 2002, section 2.1) of an update against the segment's finals. Words
    without letters or digits do not count; case is ignored.
    """
    said, *final = (Counter(_words(text)) for text in (partial, *finals))
    count = said.total()
    kept = sum(min(times, max((one[word] for one in final), default=0)) for word, times in said.items())
    return Support(count, count - kept)


def _words(text: Sequence[str]) -> list[str]:
    return [word.casefold() for word in text if any(map(str.isalnum, word))]
