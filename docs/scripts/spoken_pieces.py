"""Written sentences as a recogniser hears them in read speech: pieces, marks and pauses, drawn at random.

The chances are those of Moonshine's segments in 47 pauses of two recordings (LJ001-0001 to 0020, and the
opening of A Tale of Two Cities): segments of eight words, two thirds of them ending at a comma of the text; a
full stop or a comma behind each.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from random import Random
from typing import NamedTuple

from operators.training.noise import PAUSED_BEFORE

_SENTENCE = re.compile(r"(?<=[a-z0-9][.?!])\s+(?=[A-Z])")
# Seconds between the end of a segment and the beginning of the next one as their events say: what is left of
# a pause when 0.6 s of it count as speech.
_WITHIN_S = (0.0,) * 19 + (0.01,) * 8 + (0.04,) * 3 + (0.08, 0.17, 0.17, 0.23)
_BETWEEN_S = (0.07,) * 5 + (0.1, 0.1, 0.14, 0.17, 0.17, 0.36, 0.36)
_ANY_S = (0.0, 0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8)
#: How often a pause says nothing, as other people pause elsewhere.
_OTHER_SPEAKERS = 0.3


class Piece(NamedTuple):
    """A segment of a recogniser."""

    #: The words as they are written, with the mark behind them.
    written: str
    #: The mark that the recogniser puts there.
    mark: str
    #: Seconds from its end to the beginning of the next piece.
    pause_s: float
    #: Whether the sentence is over.
    is_last: bool

    @property
    def heard(self) -> str:
        """The words as the recogniser writes them, without the mark behind them."""
        return self.written[:1].upper() + without_mark(self.written[1:])

    @property
    def final(self) -> str:
        """The final text of the segment."""
        return self.heard + self.mark


def without_mark(text: str) -> str:
    """The text without the mark at its end."""
    return text.rstrip(",;:.?!")


def sentences(text: str) -> Iterator[str]:
    """The sentences of a paragraph without what nobody pronounces, such as quotation marks."""
    text = re.sub(r'["“”„»«()\[\]]|(?<!\w)[\'‘’]|[\'‘’](?!\w)', "", text)
    text = re.sub(r"\s[–—-]+\s|—", ", ", text)
    for sentence in _SENTENCE.split(" ".join(text.split())):
        if sentence and sentence[-1] in ".?!":
            yield sentence


def pieces(sentence: str, rng: Random) -> list[Piece]:
    """The sentence as segments of a recogniser."""
    words = sentence.split()
    bounds = [0, *_places(words, rng), len(words)]
    cut = (words[begin:end] for begin, end in pairwise(bounds))
    return [_piece(own, rng, is_last=end == len(words)) for own, end in zip(cut, bounds[1:], strict=True)]


def _places(words: Sequence[str], rng: Random) -> Iterator[int]:
    last = 0
    for at in range(1, len(words)):
        since = at - last
        if words[at - 1][-1] in ",;:":
            chance = 0.85 if since > 1 else 0.3
        elif PAUSED_BEFORE.fullmatch(words[at]) and since > 2:
            chance = 0.12 + 0.02 * max(0, since - 6)
        else:
            chance = 0.015 + 0.01 * max(0, since - 8) if since > 4 else 0.0
        if rng.random() < chance * (0.5 if at > len(words) - 2 else 1):
            yield at
            last = at


def _piece(words: Sequence[str], rng: Random, *, is_last: bool) -> Piece:
    text = " ".join(words)
    has_mark, is_question = text[-1] in ",;:", text[-1] == "?" and rng.random() < 0.7
    comma = 0.1 if is_last else 0.6 if has_mark else 0.4
    mark = "," if rng.random() < comma else "?" if is_question else "."
    usual_s = _BETWEEN_S if is_last else _WITHIN_S
    pause_s = rng.choice(_ANY_S if rng.random() < _OTHER_SPEAKERS else usual_s)
    if pause_s:
        pause_s = max(0.0, pause_s + rng.gauss(0.0, 0.02))
    return Piece(text, mark, pause_s, is_last)
