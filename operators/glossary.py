"""Glossary: terms of the source language, their translations, and which of them occur in a text.

Terms match whole words, in any case and with any hyphens: ``code-switching`` is found as "Code switching".
A word with a capital after its first letter, such as ``NLP`` or ``iPhone``, must match exactly. In scripts
without spaces each character counts as a word.
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
#: A letter of a script with spaces: a letter before it belongs to the same word.
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
        """``translations`` maps each term's `spelling`, which is not empty, to its translation."""
        self._targets: dict[tuple[str, ...], dict[tuple[str, ...], str]] = {}
        # For each first word, the lengths in words of its terms, the longest first.
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

        If several terms begin at one word, the longest counts; terms do not overlap.
        """
        times = Counter(target for _, _, target in self._scan(words_of(text)) if target is not None)
        return tuple(Occurrence(target, count) for target, count in times.items())

    def pairs(self, text: str) -> list[tuple[str, str]]:
        """The terms in a text, spelled as there without punctuation, and their translations; each once."""
        words = words_of(text)
        pairs: dict[str, tuple[str, str]] = {}
        for place, length, target in self._scan(words):
            if target is not None:
                said = words[place : place + length]
                # Scripts without spaces have no space between words.
                term = ("" if any(map(_IS_UNSPACED, said)) else " ").join(said)
                pairs.setdefault(term.casefold(), (term, target))
        return list(pairs.values())

    def mixed(self, text: str, targets: Container[str]) -> str:
        """The text with terms replaced by their translations, if these are among ``targets``."""

        def put(said: str, target: str, _before: str) -> str:
            if target not in targets:
                return said
            return target[0].upper() + target[1:] if said[0].isupper() else target

        return self.replaced(_normal(text), put)

    def replaced(self, text: str, put: Callable[[str, str, str], str]) -> str:
        """The text with each term replaced.

        ``put`` makes the replacement from the term as spelled there, its translation, and the text before it.
        """
        words = list(_WORD.finditer(text))
        parts: list[str] = []
        end = 0
        for place, length, target in self._scan([_normal(word[0]) for word in words]):
            if target is not None:
                start, last = words[place].start(), words[place + length - 1].end()
                parts += text[end:start], put(text[start:last], target, text[:start])
                end = last
        return "".join(parts) + text[end:]

    def settled(self, text: str) -> int:
        """The length of a text without its last words if these may be the beginning of a longer term."""
        words = list(_WORD.finditer(text))
        said = [_normal(word[0]) for word in words]
        begun = (place for place, _, _ in self._scan(said) if _folded(said[place:]) in self._beginnings)
        place = next(begun, None)
        return len(text) if place is None else words[place].start()

    @cached_property
    def _beginnings(self) -> frozenset[tuple[str, ...]]:
        return frozenset(term[:length] for term in self._targets for length in range(1, len(term)))

    def _scan(self, words: Sequence[str]) -> Iterator[tuple[int, int, str | None]]:
        """The place, the length and the translation of each term; 1 and None for each word in between."""
        place = 0
        while place < len(words):
            length, target = self._longest(words, place)
            yield place, length, target
            place += length

    def _longest(self, words: Sequence[str], place: int) -> tuple[int, str | None]:
        for length in self._lengths_from(words[place]):
            said = words[place : place + length]
            if len(said) == length:
                target = self._target(said) or self._target(_singular(said))
                if target is not None:
                    return length, target
        return 1, None

    def _lengths_from(self, first: str) -> Iterator[int]:
        yield from self._lengths.get(first.casefold(), ())
        # Only terms of one word begin with their last one, which may be a plural.
        (singular,) = _singular([first])
        yield from (length for length in self._lengths.get(singular.casefold(), ()) if length == 1)

    def _target(self, said: Sequence[str]) -> str | None:
        for words, target in self._targets.get(_folded(said), {}).items():
            if all(word == one for word, one in zip(words, said, strict=True) if _has_case(word)):
                return target
        return None


def spelling(source: str) -> tuple[str, ...]:
    """The key of a term: its words, in lower case unless their case matters; empty if it has no words."""
    return tuple(word if _has_case(word) else word.casefold() for word in words_of(source))


def times_said(text: str, target: str) -> int:
    """How often a text contains a translation, including with endings or as the start of a compound."""
    text, target = text.casefold(), target.casefold()
    times, start = 0, text.find(target)
    while start >= 0:
        is_within_word = start and _begins_word(text[start - 1]) and _begins_word(target[0])
        times += not is_within_word
        start = text.find(target, start + (1 if is_within_word else len(target)))
    return times


def times_inflected(text: str, target: str) -> int:
    """How often a text contains a translation: as `times_said`, but its words may have other endings."""
    words, wanted = (words_of(one.casefold()) for one in (text, target))
    places = range(len(words) - len(wanted) + 1)
    inflected = sum(all(map(_is_inflected, words[place : place + len(wanted)], wanted)) for place in places)
    return max(inflected, times_said(text, target))


def _is_inflected(word: str, basic: str) -> bool:
    """Whether a word may be a form of another one: ``margens`` of ``margem``."""
    return word.startswith(basic[: max(3, len(basic) - 2)]) and len(word) <= len(basic) + 3


@lru_cache(4096)
def _begins_word(character: str) -> bool:
    return _BEGINS_WORD.match(character) is not None


def words_of(text: str) -> list[str]:
    """The words of a text, and its symbols."""
    words: list[str] = _WORD.findall(_normal(text))
    return words


def _normal(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFKC", text).replace("’", "'")


def _folded(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(word.casefold() for word in words)


def _has_case(word: str) -> bool:
    """Whether a word's spelling matters: it has a capital after its first letter."""
    return word[1:] != word[1:].lower()


def _singular(words: Sequence[str]) -> Sequence[str]:
    last = words[-1]
    is_plural = last.endswith(_PLURAL) and len(last) >= _MIN_SINGULAR + len(_PLURAL)
    return [*words[:-1], last.removesuffix(_PLURAL)] if is_plural else words
