"""Glossary and lexicon: terms of the source language, their translations, and which of them occur in a text.

Terms match whole words, in any case and with any hyphens: ``code-switching`` is found as "Code switching".
A word with a capital after its first letter, such as ``NLP`` or ``iPhone``, must be spelled the same. In
scripts without spaces each character counts as a word.

A lexicon has translations of the rarer words of a language, each with its probability.
"""

import unicodedata
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

import regex

from operators.languages import UNSPACED

_HYPHENS = r"\-‐‑‒–—"
#: A character of a script without spaces, a word of another script, or a symbol ("C++" has three words).
_WORD = regex.compile(
    rf"(?V1)[{UNSPACED}]\p{{M}}*|[\w--[{UNSPACED}]]+|[^\s\w{_HYPHENS}]",
)
_IS_UNSPACED = regex.compile(f"[{UNSPACED}]").match
#: The first letter of a word that other letters before it would make another word.
_BEGINS_WORD = regex.compile(rf"(?V1)[\w--[{UNSPACED}]]")
#: Shorter words have no plural: "it" and "its" are different words.
_MIN_SINGULAR = 3
_PLURAL = "s"


class Occurrence(NamedTuple):
    """The translation of a term, and how many times its source occurs in a text."""

    target: str
    times: int


class Glossary:
    """Terms, indexed by their words: the time to search a text does not depend on their number."""

    def __init__(self, translations: Mapping[tuple[str, ...], str]) -> None:
        """``translations`` are those of terms, by their `spelling`, which is not empty."""
        self._targets: dict[tuple[str, ...], dict[tuple[str, ...], str]] = {}
        # The lengths in words of the terms that begin with a word, the longest first.
        lengths: dict[str, set[int]] = {}
        for words, target in translations.items():
            folded = _folded(words)
            self._targets.setdefault(folded, {})[words] = target
            lengths.setdefault(folded[0], set()).add(len(folded))
        self._lengths = {word: sorted(each, reverse=True) for word, each in lengths.items()}

    @property
    def words(self) -> set[str]:
        """The words of all terms, with a capital."""
        words = {word for terms in self._targets.values() for term in terms for word in term}
        return {word if _has_case(word) else word.capitalize() for word in words}

    def occurring(self, text: str) -> tuple[Occurrence, ...]:
        """The terms in a text, in the order of their first occurrence.

        Where several terms begin, the longest counts; terms do not overlap.
        """
        times = Counter(target for target, _ in self._scan(words_of(text)) if target is not None)
        return tuple(Occurrence(target, count) for target, count in times.items())

    def pairs(self, text: str) -> list[tuple[str, str]]:
        """The terms in a text as it spells them, but for marks, and their translations; each once."""
        words, place = words_of(text), 0
        pairs: dict[str, tuple[str, str]] = {}
        for target, length in self._scan(words):
            if target is not None:
                term = _together(words[place : place + length])
                pairs.setdefault(term.casefold(), (term, target))
            place += length
        return list(pairs.values())

    def mixed(self, text: str, targets: Container[str]) -> str:
        """The text with those translations that are among ``targets`` in the places of their terms."""

        def put(said: str, target: str, _before: str) -> str:
            if target not in targets:
                return said
            return target[0].upper() + target[1:] if said[0].isupper() else target

        return self.replaced(_normal(text), put)

    def replaced(self, text: str, put: Callable[[str, str, str], str]) -> str:
        """The text with each term replaced.

        Args:
            text: The text.
            put: Makes what takes the place of a term from the term as the text has it, its translation, and
                the text before it.
        """
        words = list(_WORD.finditer(text))
        parts: list[str] = []
        end = place = 0
        for target, length in self._scan([_normal(word[0]) for word in words]):
            if target is not None:
                start, last = words[place].start(), words[place + length - 1].end()
                parts += text[end:start], put(text[start:last], target, text[:start])
                end = last
            place += length
        return "".join(parts) + text[end:]

    def settled(self, text: str) -> int:
        """The length of a text without its last words if these may be the beginning of a longer term."""
        words = list(_WORD.finditer(text))
        said, place = [_normal(word[0]) for word in words], 0
        for _, length in self._scan(said):
            if _folded(said[place:]) in self._beginnings:
                return words[place].start()
            place += length
        return len(text)

    @cached_property
    def _beginnings(self) -> frozenset[tuple[str, ...]]:
        return frozenset(term[:length] for term in self._targets for length in range(1, len(term)))

    def others(self, words: Sequence[str]) -> list[str | None]:
        """The words, with None in the place of each that belongs to a term."""
        others: list[str | None] = []
        for target, length in self._scan(words):
            others += words[len(others) : len(others) + length] if target is None else [None] * length
        return others

    def _scan(self, words: Sequence[str]) -> Iterator[tuple[str | None, int]]:
        """The translation of each term and its length; None and 1 for each word in between."""
        place = 0
        while place < len(words):
            target, length = self._longest(words, place)
            yield target, length
            place += length

    def _longest(self, words: Sequence[str], place: int) -> tuple[str | None, int]:
        """The translation of the longest term at a place, and its length; None and 1 if there is no term."""
        for length in self._lengths_from(words[place]):
            said = words[place : place + length]
            if len(said) == length:
                target = self._target(said) or self._target(_singular(said))
                if target is not None:
                    return target, length
        return None, 1

    def _lengths_from(self, first: str) -> Iterator[int]:
        yield from self._lengths.get(first.casefold(), ())
        # Only terms of one word begin with their last one, which may be a plural.
        (singular,) = _singular([first])
        yield from (length for length in self._lengths.get(singular.casefold(), ()) if length == 1)

    def _target(self, said: Sequence[str]) -> str | None:
        """The translation of a term that may be spelled like this."""
        for words, target in self._targets.get(_folded(said), {}).items():
            if all(word == one for word, one in zip(words, said, strict=True) if _has_case(word)):
                return target
        return None


def spelling(source: str) -> tuple[str, ...]:
    """What distinguishes a term from others: its words, in lower case unless their case matters.

    Empty if there is no word.
    """
    return tuple(word if _has_case(word) else word.casefold() for word in words_of(source))


def times_said(text: str, target: str) -> int:
    """How often a text contains a translation, perhaps with an ending or as the first part of a compound."""
    return len(said_at(text.casefold(), [target.casefold()]))


def times_inflected(text: str, target: str) -> int:
    """How often a text contains a translation as in `times_said`, or with other endings of its words."""
    words, wanted = (words_of(one.casefold()) for one in (text, target))
    places = range(len(words) - len(wanted) + 1)
    inflected = sum(all(map(_is_inflected, words[place : place + len(wanted)], wanted)) for place in places)
    return max(inflected, times_said(text, target))


def _is_inflected(word: str, basic: str) -> bool:
    """Whether a word may be a form of another one: ``margens`` of ``margem``."""
    return word.startswith(basic[: max(3, len(basic) - 2)]) and len(word) <= len(basic) + 3


def said_at(text: str, targets: Iterable[str]) -> list[int]:
    """Where one of several translations ends in a text, in order; none begins before the last one has ended.

    As in `times_said`; text and translations are case-folded. What stands before a place in the text does not
    depend on what follows it.
    """
    found = sorted((end, start) for target in targets for start, end in _found(text, target))
    ends = [0]
    for end, start in found:
        if start >= ends[-1]:
            ends.append(end)
    return ends[1:]


def _found(text: str, target: str) -> Iterator[tuple[int, int]]:
    """Where a translation begins and ends in a text; occurrences may overlap."""
    start = text.find(target)
    while start >= 0:
        if not (start and _begins_word(text[start - 1]) and _begins_word(target[0])):
            yield start, start + len(target)
        start = text.find(target, start + 1)


@lru_cache(4096)
def _begins_word(character: str) -> bool:
    return _BEGINS_WORD.match(character) is not None


def words_of(text: str) -> list[str]:
    """The words of a text, and its symbols."""
    words: list[str] = _WORD.findall(_normal(text))
    return words


def _normal(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFKC", text).replace("’", "'")


def _together(words: Sequence[str]) -> str:
    """Words as one text, in which characters of scripts without spaces have none between them."""
    joint = "" if any(map(_IS_UNSPACED, words)) else " "
    return joint.join(words)


def _folded(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(word.casefold() for word in words)


def _has_case(word: str) -> bool:
    """Whether a word's spelling matters: it has a capital after its first letter."""
    return word[1:] != word[1:].lower()


def _singular(words: Sequence[str]) -> Sequence[str]:
    """The words without a plural's ending of the last one."""
    last = words[-1]
    is_plural = last.endswith(_PLURAL) and len(last) >= _MIN_SINGULAR + len(_PLURAL)
    return [*words[:-1], last.removesuffix(_PLURAL)] if is_plural else words


#: Words of the longest phrase that is looked up, and translations of a phrase that are kept.
MAX_WORDS = 4
MAX_TRANSLATIONS = 8


class Translation(NamedTuple):
    """A translation of a word or phrase."""

    text: str
    #: How probable it is, from 0 to 1.
    probability: float = 1.0


#: Translations of words and phrases, the likeliest first, by the words in lower case with a space between.
#: None of them means that the word is common.
Lexicon = Mapping[str, Sequence[Translation]]


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
        found = (lexicon.get(phrase) for lexicon in self.lexicons)
        return next((tuple(each) for each in found if each is not None), None)


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
