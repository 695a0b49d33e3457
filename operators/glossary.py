"""A glossary: terms of the source language, their translations, and which of them occur in a text.

Terms match whole words, in any case and with any hyphens: ``code-switching`` is found as "Code switching".
A word with a capital after its first letter, such as ``NLP`` or ``iPhone``, must be spelled the same. In
scripts without spaces each character counts as a word.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import regex

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_HYPHENS = r"\-‐‑‒–—"
#: A character of a script without spaces, a word of another script, or a symbol ("C++" has three words).
_WORD = regex.compile(
    rf"(?V1)[{_UNSPACED}]\p{{M}}*|[\w--[{_UNSPACED}]]+|[^\s\w{_HYPHENS}]",
)
_IS_UNSPACED = regex.compile(f"[{_UNSPACED}]").match
#: The first letter of a word that other letters before it would make another word.
_BEGINS_WORD = regex.compile(rf"(?V1)[\w--[{_UNSPACED}]]")
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
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).replace("’", "'")
    words: list[str] = _WORD.findall(text)
    return words


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
