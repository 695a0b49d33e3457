"""Word error rate: how many words of a transcript are wrong, ignoring case and punctuation."""

from collections.abc import Iterable, Sequence

import regex

_WORDS = regex.compile(r"[\p{L}\p{N}']+")


def word_error_rate(texts: Iterable[tuple[str, str]]) -> float | None:
    """In per cent, pooled over pairs of reference and hypothesis; None if the references have no words."""
    pairs = [(spoken_words(said), spoken_words(heard)) for said, heard in texts]
    words = sum(len(said) for said, _ in pairs)
    return 100 * sum(word_errors(*pair) for pair in pairs) / words if words else None


def spoken_words(text: str) -> tuple[str, ...]:
    """The words of a text in lower case, without punctuation; a hyphenated word is two words."""
    return tuple(_WORDS.findall(text.lower().replace("’", "'")))


def word_errors(said: Sequence[str], heard: Sequence[str]) -> int:
    """The fewest substitutions, insertions and deletions that turn ``said`` into ``heard`` (Levenshtein)."""
    row = list(range(len(heard) + 1))
    for number, word in enumerate(said, start=1):
        before, row[0] = row[0], number
        for place, other in enumerate(heard, start=1):
            before, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, before + (word != other))
    return row[-1]
