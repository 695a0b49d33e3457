"""What viewers read before a segment's final, judged by the final: did it stay, and was it ever said?

Papers on re-translation score only finals, and erasure counts removed tokens, whatever replaced them.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple


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


def pooled(parts: Sequence[Support]) -> float | None:
    """The share of unsupported words among all; None without words."""
    words = sum(part.words for part in parts)
    return sum(part.unsupported for part in parts) / words if words else None


def final_prefix(partial: Sequence[str], final: Sequence[str]) -> Sequence[str]:
    """The start of ``final``, as long as ``partial``; all of it if ``partial`` is longer."""
    return final[: len(partial)]


def _words(text: Sequence[str]) -> list[str]:
    return [word.casefold() for word in text if any(map(str.isalnum, word))]
