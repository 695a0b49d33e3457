"""Replaces or masks words in captions by means of a glossary.

A caption that only grew still only grows: a possible beginning of a longer term waits for the next word.
"""

import re

from msgspec.structs import replace

from operators.events import Caption
from operators.glossary import Glossary
from operators.languages import SENTENCE_MARKS

#: In place of a translation: each character becomes an asterisk.
MASKED = "*"


def replaced(words: Glossary, caption: Caption) -> Caption:
    """The caption with these words replaced, in its source and in its translation."""

    def certain(text: str) -> str:
        return text if caption.is_final else text[: words.settled(text)].rstrip()

    shown = _put(words, certain(caption.shown))
    return replace(
        caption,
        source=_put(words, certain(caption.source)),
        shown=shown,
        withheld=_put(words, caption.text)[len(shown) :],
    )


def _put(words: Glossary, text: str) -> str:
    return words.replaced(text, _other)


def _other(said: str, other: str, before: str) -> str:
    if other == MASKED:
        return re.sub(r"\S", "*", said)
    begins = not before.strip() or before.rstrip().endswith(tuple(SENTENCE_MARKS))
    return other[0].upper() + other[1:] if begins and said[0].isupper() else other
