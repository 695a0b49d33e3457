"""Sentences as recognisers cut them: at pauses, with a full stop and a capital that nobody said.

A segment of a recogniser ends at a short pause. What was said before it is a final, and what follows begins
like a sentence. `pieces_of` gives such pieces with their own translations; `interrupt` leaves the false stop
inside a longer text.
"""

from collections.abc import Sequence
from random import Random

import regex

from operators.training.closing import SENTENCE_ENDS
from operators.training.pairs import Pair

_CLAUSE_ENDS = ",;:—–，；、"
#: Speakers pause before these words more often than before others.
PAUSED_BEFORE = regex.compile(
    r"(?i:and|or|but|so|because|that|which|who|where|when|while|if|as|of|in|on|at|by|for|from|with|to|into"
    r"|about|after|before|than|like|is|are|was|were|will|would|can|could)"
)
# Words on either side of a pause.
_FEWEST = 2


def pieces_of(pair: Pair) -> list[Pair]:
    """The pair's two pieces at a clause boundary that both sides mark in the same place; none without one."""
    for words in range(_FEWEST, len(pair.source) - _FEWEST + 1):
        pieces = pair.supports[words - 1]
        if not _FEWEST <= pieces <= len(pair.target) - _FEWEST:
            continue
        if pair.source[words - 1][-1] in _CLAUSE_ENDS and pair.target[pieces - 1][-1] in _CLAUSE_ENDS:
            return [
                _piece(pair.source[:words], pair.target[:pieces]),
                _piece(pair.source[words:], pair.target[pieces:]),
            ]
    return []


def interrupt(words: Sequence[str], rng: Random) -> list[str]:
    """The words with a false full stop, and a capital behind it, at a place where speakers pause."""
    places = [
        at
        for at in range(_FEWEST, len(words) - 1)
        if words[at - 1][-1] in _CLAUSE_ENDS
        or (PAUSED_BEFORE.fullmatch(words[at]) and words[at - 1][-1].isalnum())
    ]
    if not places:
        return list(words)
    at = rng.choice(places)
    return [*words[: at - 1], _stopped(words[at - 1]), _capital(words[at]), *words[at + 1 :]]


def _piece(source: Sequence[str], target: Sequence[str]) -> Pair:
    words = (_capital(source[0]), *source[1:-1], _stopped(source[-1]))
    parts = (_capital(target[0].lstrip()), *target[1:-1], _stopped(target[-1]))
    # Only ever used whole: a prefix of a piece would say no more than one of the pair.
    return Pair(words, parts, (0,) * (len(words) - 1) + (len(parts),))


def _stopped(word: str) -> str:
    if word[-1] in SENTENCE_ENDS:
        return word
    return word.rstrip(_CLAUSE_ENDS) + ("。" if word[-1] in "，；、" else ".")


def _capital(word: str) -> str:
    return word[:1].upper() + word[1:]
