"""Makes a lexicon of aligned pairs: what words were translated as, and how often."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import regex

from operators.glossary import words_of
from operators.lexicon import MAX_TRANSLATIONS, MAX_WORDS, Translation
from operators.training.alignment import Alignment


class LinkedPair(NamedTuple):
    """A source in words, its translation in pieces (`operators.training.alignment`), and their links."""

    source: Sequence[str]
    target: Sequence[str]
    links: Alignment


#: Words that occur more often, in a million, need no dictionary: a Zipf frequency of 5.2.
COMMON_PER_MILLION = 158
#: What is translated so less often is chance, or a matter of grammar.
_MIN_PROBABILITY = 0.06
#: The share of their occurrences that two words must have in common (Dice), also if they met only once.
_MIN_DICE = 0.03
_MIN_DICE_ONCE = 0.5
#: A word in a script without spaces has up to so many pieces.
_MAX_PIECES = 6
_EDGES = regex.compile(r"^[^\p{L}\p{N}]+|(?:['’]s)?[^\p{L}\p{N}]+$|['’]s$")
_WORD = regex.compile(r"[\p{L}\p{M}]+(?:[-'’ ][\p{L}\p{M}]+)*")


def lexicon_entries(pairs: Iterable[LinkedPair]) -> Mapping[str, Sequence[Translation]]:
    """The translations of each word, the likeliest first; none for common words."""
    counts = _Counts()
    for pair in pairs:
        counts.add(pair)
    return dict(counts.entries())


class _Counts:
    """How often words occur, alone and as translations of each other; case-folded."""

    def __init__(self) -> None:
        self._sources: Counter[str] = Counter()
        self._targets: Counter[str] = Counter()
        self._translations: dict[str, Counter[str]] = {}
        self._spellings: dict[str, Counter[str]] = {}

    def add(self, pair: LinkedPair) -> None:
        for place, piece in enumerate(pair.target):
            word = _EDGES.sub("", piece.strip())
            self._targets[word.casefold()] += 1
            # The first word of a sentence has a capital whatever it is.
            self._spellings.setdefault(word.casefold(), Counter())[word] += 1000 if place else 1
        words = [_EDGES.sub("", word).casefold() for word in pair.source]
        self._sources.update(words)
        for source, target in _translated(pair):
            self._translations.setdefault(words[source], Counter())[target] += 1

    def entries(self) -> Iterator[tuple[str, Sequence[Translation]]]:
        """Phrases with their translations; none for common words."""
        least = COMMON_PER_MILLION * self._sources.total() / 1_000_000
        for word, times in self._sources.items():
            phrase = words_of(word)
            if not _WORD.fullmatch(word) or len(phrase) > MAX_WORDS:
                continue
            if times > least:
                yield " ".join(phrase), []
            elif len(phrase) > 1 and any(self._sources[part] > least for part in phrase):
                continue  # "A-list" would be found in "a list"
            elif kept := list(self._kept(word, times)):
                yield " ".join(phrase), kept[:MAX_TRANSLATIONS]

    def _kept(self, word: str, times: int) -> Iterator[Translation]:
        """The translations that are more than chance."""
        found = self._translations.get(word, Counter())
        for target, together in sorted(found.items(), key=lambda one: (-one[1], one[0])):
            # How often a phrase occurs is not counted: its rarest word bounds it.
            occurs = min(self._targets.get(part, together) for part in target.split(" "))
            dice = 2 * together / (times + max(together, occurs))
            share = together / found.total()
            if share >= _MIN_PROBABILITY and dice >= (_MIN_DICE if together > 1 else _MIN_DICE_ONCE):
                yield Translation(self._spelt(target), share)

    def _spelt(self, target: str) -> str:
        """A translation as it is written inside a sentence."""
        known = ((word, self._spellings.get(word)) for word in target.split(" "))
        return " ".join(word if forms is None else forms.most_common(1)[0][0] for word, forms in known)


def _translated(pair: LinkedPair) -> Iterator[tuple[int, str]]:
    """Each source word that alone was translated by adjacent pieces, and what these are."""
    of_source: dict[int, list[int]] = {}
    for source, target in pair.links.tolist():
        of_source.setdefault(source, []).append(target)
    linked = Counter(chain.from_iterable(of_source.values()))
    for source, targets in of_source.items():
        first, last = targets[0], targets[-1]
        is_adjacent = last - first + 1 == len(targets) <= _MAX_PIECES
        if is_adjacent and all(linked[target] == 1 for target in targets):
            text = _EDGES.sub("", "".join(pair.target[first : last + 1]).strip())
            if _WORD.fullmatch(text) and text.count(" ") < MAX_WORDS:
                yield source, text.casefold()
