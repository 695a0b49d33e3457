"""Word error rate: the words that have to be changed, over those that were said."""

from collections.abc import Sequence

import regex

_WORDS = regex.compile(r"[\p{L}\p{N}']+")


def spoken_words(text: str) -> tuple[str, ...]:
    """The words of a text in lower case, without punctuation; what a hyphen joins is two words."""
    return tuple(_WORDS.findall(text.lower().replace("’", "'")))


def word_errors(said: Sequence[str], heard: Sequence[str]) -> int:
    """The fewest words to substitute, insert or delete that make ``heard`` of ``said`` (Levenshtein)."""
    row = list(range(len(heard) + 1))
    for number, word in enumerate(said, start=1):
        before, row[0] = row[0], number
        for place, other in enumerate(heard, start=1):
            before, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, before + (word != other))
    return row[-1]
