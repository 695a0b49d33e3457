"""What was read before a segment's final, judged by the final: did it stay, and was it ever said?

Papers on re-translation score finals alone, and erasure counts tokens that went, whatever came for them.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple


class Support(NamedTuple):
    """Words of updates before the finals."""

    words: int
    #: Those that no final has.
    unsupported: int


def support(partial: Sequence[str], finals: Sequence[Sequence[str]]) -> Support:
    """How many words of an update the whole source supports: those that one of ``finals`` has as often.

    The place does not matter, as a longer source may well move a word. This is the complement of the clipped
    unigram precision (Papineni et al. 2002, section 2.1) of an update against the segment's finals. A word
    without letters or digits is none; case does not count.
    """
    said, *final = (Counter(_words(text)) for text in (partial, *finals))
    count = said.total()
    kept = sum(min(times, max((one[word] for one in final), default=0)) for word, times in said.items())
    return Support(count, count - kept)


def pooled(parts: Sequence[Support]) -> float | None:
    """The share of unsupported words of all; None where there are no words."""
    words = sum(part.words for part in parts)
    return sum(part.unsupported for part in parts) / words if words else None


def final_prefix(partial: Sequence[str], final: Sequence[str]) -> Sequence[str]:
    """The begin of ``final`` that is as long as ``partial``; all of it where that is longer."""
    return final[: len(partial)]


def _words(text: Sequence[str]) -> list[str]:
    return [word.casefold() for word in text if any(map(str.isalnum, word))]
