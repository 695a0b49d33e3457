"""What a language model says about a seam: whether the next words begin a sentence or go on with one.

Log P(``. Next two words``) is compared with that of the better of `` next two words`` and
``, next two words``, each behind the text before the seam without its mark.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from operators.sentences.words import STRONG_STOPS, parted

#: Words behind the seam that are judged: a third one hardly improves the opinion.
AHEAD = 2
#: Words before the seam that the model is given: at least so many, at most twice as many.
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
    #: How much more probable their capital is than a small letter, within the sentence; 0 if not asked.
    capital: float


def ask(model: LanguageModel, before: str, after: str, is_large: bool | None = None) -> Opinion:
    """The opinion of ``model``.

    Args:
        model: The model to ask.
        before: The text before the seam with its mark, perhaps with earlier sentences, which help the model.
        after: What is known of the text behind it.
        is_large: Whether the first word behind it has a capital within a sentence; None to ask for that, too.

    Raises:
        ModelTrouble: the model failed.
    """
    stem, mark, _ = parted(before)
    words = parted(" ".join(after.split()[:AHEAD]))[0]
    large, small = words[:1].upper() + words[1:], words[:1].lower() + words[1:]
    stop = mark[:1] if mark and mark[0] in STRONG_STOPS else "."
    within = [large if is_large else small] if is_large is not None or small == large else [small, large]
    asked = [f"{stop} {large}", *(f"{seam}{one}" for one in within for seam in (" ", ", "))]
    ends, *goes_on = model.log_probabilities(recent(stem), asked)
    best = max(range(len(within)), key=lambda spelling: max(goes_on[2 * spelling : 2 * spelling + 2]))
    plain, comma = goes_on[2 * best : 2 * best + 2]
    capital = max(goes_on[2:]) - max(goes_on[:2]) if len(within) > 1 else 0.0
    return Opinion(ends - max(plain, comma), comma - plain, capital)


def recent(text: str) -> str:
    """The last words of a text, cut so that a growing text seldom changes where it begins."""
    words = text.split()
    return " ".join(words[max(0, len(words) // _CONTEXT - 1) * _CONTEXT :])


def has_own_capitals(word: str) -> bool:
    """Whether a word is spelled with capitals everywhere: "I", "I'm", "NASA", "McDonald"."""
    letters = parted(word)[0]
    return letters == "I" or letters[:2] in ("I'", "I’") or any(letter.isupper() for letter in letters[1:])
