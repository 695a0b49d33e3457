"""Recognisers' faults in text: no case, no punctuation, a cut or wrong last word, words lost or doubled.

Each fault is a small function of words and a `random.Random`; `Noise` draws among them. Only sources get
noise: the target of a noisy source is what a reader should see. A misheard last word supports nothing, so a
model learns to output only what the words before it support.

A segment of a recogniser ends at a short pause. What was said before it is a final, and what follows begins
like a sentence. `pieces_of` gives such pieces with their own translations; `interrupt` leaves the false stop
inside a longer text.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Self

import regex

from operators.training.pairs import SENTENCE_ENDS, Pair

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


# "3.5", "10:30" and "5 %" keep marks that a recogniser would write as words.
_PUNCTUATION = regex.compile(r"(?!(?<=\d)[.:](?=\d))[\p{P}\p{S}--[%&@#€$£+'’]]", regex.V1)
# Between letters an apostrophe belongs to the word.
_LOOSE_APOSTROPHE = regex.compile(r"(?<!\p{L})['’]|['’](?!\p{L})")
# Number of first letters that a wrong word shares with the right one.
_SHARED_LETTERS = 2
# Unstressed English words that a recogniser loses and a reader does not miss.
_LIGHT = frozenset({"a", "an", "the", "of", "to", "in", "at", "for", "and", "that", "is", "are", "was", "be"})
# The style of a plain recogniser: lower case, no punctuation.
_STYLES = ((True, True), (True, True), (True, False), (False, True))


@dataclass(frozen=True)
class Lexicon:
    """Which words are heard instead of others, and which can be lost."""

    #: Words by their first letters, all in lower case.
    alike: Mapping[str, Sequence[str]]
    #: In lower case.
    light: frozenset[str] = _LIGHT

    @classmethod
    def of(cls, sentences: Iterable[Sequence[str]], light: frozenset[str] = _LIGHT) -> Self:
        """The words of these sentences; those that occur at least twice can replace others."""
        counts = Counter(bare(word) for sentence in sentences for word in sentence)
        alike = defaultdict(list)
        for word, count in sorted(counts.items()):
            if count > 1 and len(word) > _SHARED_LETTERS:
                alike[word[:_SHARED_LETTERS]].append(word)
        return cls(dict(alike), light)


def bare(word: str) -> str:
    """A word in lower case without its punctuation."""
    return without_punctuation([word]).lower()


def without_punctuation(words: Sequence[str]) -> str:
    """The words as one text without punctuation; apostrophes inside words stay, hyphens become spaces."""
    text = regex.sub(r"(?<=\w)[-–—/](?=\w)", " ", " ".join(words))
    return " ".join(_LOOSE_APOSTROPHE.sub("", _PUNCTUATION.sub("", text)).split())


def cut(words: Sequence[str], rng: Random) -> list[str]:
    """The last word broken off in the middle; a single letter stays."""
    last = words[-1]
    return [*words[:-1], last[: rng.randint(1, max(1, len(last) - 1))]]


def misheard(words: Sequence[str], rng: Random, lexicon: Lexicon) -> list[str]:
    """Another last word that begins with the same letters; the same one if the lexicon has none."""
    last = bare(words[-1])
    others = [word for word in lexicon.alike.get(last[:_SHARED_LETTERS], ()) if word != last]
    if not others:
        return list(words)
    other = rng.choice(others)
    return [*words[:-1], other.capitalize() if words[-1][:1].isupper() else other]


def closed(words: Sequence[str], rng: Random) -> list[str]:
    """A full stop or a comma after unfinished words, as recognisers with punctuation add it."""
    if words[-1][-1] in SENTENCE_ENDS:
        return list(words)
    return [*words[:-1], words[-1].rstrip(",;:") + rng.choice("....,")]


def dropped(words: Sequence[str], rng: Random, lexicon: Lexicon) -> list[str]:
    """The words without one of the light words before the last one; unchanged if there is none."""
    light = [at for at, word in enumerate(words[:-1]) if word.lower() in lexicon.light]
    lost = rng.choice(light) if light else len(words)
    return [word for at, word in enumerate(words) if at != lost]


def doubled(words: Sequence[str], rng: Random) -> list[str]:
    """The words with one of them doubled."""
    at = rng.randrange(len(words))
    return [*words[:at], words[at].rstrip(".,;:!?") or words[at], *words[at:]]


@dataclass(frozen=True)
class NoisySource:
    """A source as a recogniser wrote it."""

    text: str
    #: How many words from the start of the source may support a target: not a last word that is cut or wrong.
    sure: int


@dataclass(frozen=True)
class Noise:
    """Draws the faults of a text.

    `share` is the probability of any fault; then each one comes with its own probability, independently, and
    those of the last word (cut, misheard, closed) only if the text is unfinished. A recogniser that writes no
    capitals mostly writes no punctuation either, so both are removed together two times out of three.
    """

    share: float
    lexicon: Lexicon
    plain: float = 0.3
    cut: float = 0.2
    misheard: float = 0.25
    closed: float = 0.35
    dropped: float = 0.1
    doubled: float = 0.05
    interrupted: float = 0.3
    #: Share of finals that are a piece of their sentence.
    pieces: float = 0.15

    def __call__(self, words: Sequence[str], is_final: bool, rng: Random) -> NoisySource:
        """The noisy version of these words, of which there is at least one."""
        if rng.random() >= self.share:
            return NoisySource(" ".join(words), len(words))
        heard, sure = list(words), len(words)
        if rng.random() < self.dropped:
            heard = dropped(heard, rng, self.lexicon)
        if rng.random() < self.doubled:
            heard = doubled(heard, rng)
        if rng.random() < self.interrupted:
            heard = interrupt(heard, rng)
        if not is_final:
            spoilt = self._last(heard, rng)
            if spoilt != heard:
                heard, sure = spoilt, sure - 1
            if rng.random() < self.closed:
                heard = closed(heard, rng)
        return NoisySource(self._styled(heard, rng), sure)

    def _last(self, words: Sequence[str], rng: Random) -> list[str]:
        draw = rng.random()
        if draw < self.cut:
            return cut(words, rng)
        if draw < self.cut + self.misheard:
            return misheard(words, rng, self.lexicon)
        return list(words)

    def _styled(self, words: Sequence[str], rng: Random) -> str:
        text = " ".join(words)
        if rng.random() >= self.plain:
            return text
        lower, unpunctuated = rng.choice(_STYLES)
        if unpunctuated:
            text = without_punctuation(words) or text
        return text.lower() if lower else text
