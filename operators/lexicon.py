"""A lexicon: translations of the rarer words of a language, each with its probability.

It is one sorted text, which may be memory-mapped: looking a word up bisects it and copies only its lines.
"""

import hashlib
import mmap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

#: How a lexicon begins. It is below every word, as is all that stands in its line.
MAGIC = b"#surtitle lexicon"
#: Words of the longest phrase that is looked up, and translations of a phrase that are kept.
MAX_WORDS = 4
MAX_TRANSLATIONS = 8


class Translation(NamedTuple):
    """A translation of a word or phrase."""

    text: str
    #: How probable it is, from 0 to 1.
    probability: float = 1.0


class Lexicon:
    """Translations of words and phrases, looked up in sorted lines.

    A line has a phrase, a tab, a translation, a tab and its probability in percent. A phrase is its words in
    lower case with one space between; a line without a translation says that the word is common.
    """

    def __init__(self, lines: bytes | mmap.mmap) -> None:
        """``lines`` are those that `lexicon_lines` writes."""
        self._lines = lines
        # Updates repeat the words of the one before.
        self._known = lru_cache(4096)(self._search)

    def find(self, phrase: str) -> tuple[Translation, ...] | None:
        """The translations of a phrase, the likeliest first: none if it is common, None if it is unknown."""
        return self._known(phrase)

    @property
    def sha256(self) -> str:
        """The hash of its lines."""
        return hashlib.sha256(self._lines).hexdigest()

    def _search(self, phrase: str) -> tuple[Translation, ...] | None:
        key = phrase.encode() + b"\t"
        start = self._first(key)
        found = None
        while self._lines[start : start + len(key)] == key:
            end = self._end(start)
            found = found or []
            text, _, percent = self._lines[start + len(key) : end].decode().partition("\t")
            if text:
                found.append(Translation(text, float(percent) / 100))
            start = end + 1
        return None if found is None else tuple(found[:MAX_TRANSLATIONS])

    def _first(self, key: bytes) -> int:
        """Where the first line that is not below ``key`` begins."""
        low, high = 0, len(self._lines)
        while low < high:
            # The line in which the middle lies.
            start = self._lines.rfind(b"\n", low, (low + high) // 2) + 1 or low
            end = self._end(start)
            if self._lines[start : min(end, start + len(key))] < key:
                low = end + 1
            else:
                high = start
        return low

    def _end(self, start: int) -> int:
        end = self._lines.find(b"\n", start)
        return len(self._lines) if end < 0 else end


def lexicon_lines(about: str, entries: Mapping[str, Sequence[Translation]]) -> Iterator[bytes]:
    """The lines of a lexicon; ``about`` says in one line where the entries come from."""
    yield MAGIC + f" {about}\n".encode()
    for key, phrase in sorted((phrase.encode() + b"\t", phrase) for phrase in entries):
        for text, probability in entries[phrase] or [Translation("", 0.0)]:
            percent = f"{100 * probability:.0f}" if text else ""
            yield key + f"{text}\t{percent}\n".encode()


def lexicon_of(entries: Mapping[str, Sequence[Translation]]) -> Lexicon:
    """A lexicon in memory."""
    return Lexicon(b"".join(lexicon_lines("in memory", entries)))


class Wanted(NamedTuple):
    """A word of a text with its possible translations, and how many times it occurs."""

    translations: tuple[Translation, ...]
    times: int
    #: Whether it is taken for a name, which is translated by itself.
    is_name: bool = False


class Dictionary:
    """What is known about the words of a source language: lexicons, and how names are translated."""

    def __init__(self, lexicons: Sequence[Lexicon], *, copies_names: bool) -> None:
        """Of the ``lexicons`` the first that knows a phrase decides.

        With ``copies_names`` a capital inside a sentence marks a name, whose translation is itself unless a
        lexicon knows it.
        """
        self.lexicons = lexicons
        self._copies_names = copies_names

    def occurring(self, words: Sequence[str | None]) -> tuple[Wanted, ...]:
        """The words to lean towards, in the order of their first occurrence.

        Args:
            words: Those of a text; None for each that is translated otherwise.
        """
        times: Counter[tuple[tuple[Translation, ...], bool]] = Counter()
        copies = self._copies_names and not _is_in_capitals(words)
        place = 0
        while place < len(words):
            found, length = self._longest(words, place)
            if found:
                times[found, False] += 1
            elif found is None and copies and _is_name(words, place):
                times[(Translation(str(words[place])),), True] += 1
            place += length
        return tuple(Wanted(found, count, is_name) for (found, is_name), count in times.items())

    def _longest(self, words: Sequence[str | None], place: int) -> tuple[tuple[Translation, ...] | None, int]:
        for length in range(min(MAX_WORDS, len(words) - place), 0, -1):
            said = words[place : place + length]
            if None in said:
                continue
            parts = [str(word).casefold() for word in said]
            # Phrases such as "of which" are grammar.
            if length > 1 and all(self._find(part) == () for part in parts if part.isalpha()):
                continue
            if (found := self._find(" ".join(parts))) is not None:
                return found, length
        return None, 1

    def _find(self, phrase: str) -> tuple[Translation, ...] | None:
        found = (lexicon.find(phrase) for lexicon in self.lexicons)
        return next((each for each in found if each is not None), None)


def _is_name(words: Sequence[str | None], place: int) -> bool:
    """Whether a word begins with a capital although no sentence begins there."""
    word = words[place]
    if word is None or not word[:1].isupper() or not word.isalpha() or len(word) < 2:
        return False
    before = words[place - 1] if place else None
    return before is not None and (before[-1:].isalnum() or before in ",;'’")


def _is_in_capitals(words: Iterable[str | None]) -> bool:
    """Whether capitals say nothing, as in a headline."""
    letters = [word for word in words if word is not None and word[:1].isalpha()]
    return 2 * sum(word[0].isupper() for word in letters) > len(letters)
