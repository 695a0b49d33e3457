"""What a language model says about a seam: whether the next words begin a sentence or go on with one.

Log P(``. Next two words``) is compared with that of the better of `` next two words`` and
``, next two words``, each behind the text before the seam without its mark.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from operators.sentences.words import STRONG_STOPS, parted

#: Words behind the seam that are judged, and words before it that the model is given.
AHEAD = 3
_CONTEXT = 40


class LanguageModel(Protocol):
    """What judging needs from a model."""

    def log_probabilities(self, context: str, continuations: Sequence[str]) -> list[float]:
        """log P of each continuation behind ``context``, in nats. Raises `ModelTrouble` if it fails."""
        ...


class Opinion(NamedTuple):
    """A model's opinion about a seam, in nats."""

    #: How much more probable the next words are as a new sentence than as more of the same one.
    ends: float
    #: How much more probable they are behind a comma than behind none.
    comma: float
    #: How much more probable their capital is than a small letter, within the sentence.
    capital: float


def ask(model: LanguageModel, before: str, after: str, mark: str = ".") -> Opinion:
    """The opinion of ``model``; ``mark`` is what the recogniser put, or a full stop.

    Raises:
        ModelTrouble: the model failed.
    """
    context = recent(parted(before)[0])
    large, small = _spellings(beginning(after))
    stop = mark if mark and mark in STRONG_STOPS else "."
    continuations = [f"{stop} {large}", f" {small}", f", {small}", f" {large}", f", {large}"]
    if small == large:
        continuations = continuations[:3]
    ends, plain, comma, *kept = model.log_probabilities(context, continuations)
    small_best, large_best = max(plain, comma), max(kept, default=max(plain, comma))
    comma_gap = comma - plain if small_best >= large_best or not kept else kept[1] - kept[0]
    return Opinion(ends - max(small_best, large_best), comma_gap, large_best - small_best)


def beginning(after: str) -> str:
    """The words that are judged, without the mark behind the last one."""
    return parted(" ".join(after.split()[:AHEAD]))[0]


def recent(before: str) -> str:
    """The last words of a text, cut so that a growing text seldom changes where it begins."""
    words = before.split()
    cut = max(0, len(words) - _CONTEXT) // _CONTEXT * _CONTEXT
    return " ".join(words[cut:][-2 * _CONTEXT :])


def _spellings(words: str) -> tuple[str, str]:
    """The words with a capital and with a small letter first; with the same where there is no choice."""
    first, _, rest = words.partition(" ")
    if has_own_capitals(first):
        return words, words
    behind = f" {rest}" if rest else ""
    return first[:1].upper() + first[1:] + behind, first[:1].lower() + first[1:] + behind


def has_own_capitals(word: str) -> bool:
    """Whether a word is spelled with capitals everywhere: "I", "I'm", "NASA", "McDonald"."""
    letters = parted(word)[0]
    return letters == "I" or letters[:2] in ("I'", "I’") or any(letter.isupper() for letter in letters[1:])
