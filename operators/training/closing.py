"""Punctuation at the end of an unfinished text: what nobody has said yet is not written.

A sentence that goes on has no full stop, and a clause whose end has not been heard has no comma.
"""

import unicodedata
from collections.abc import Sequence

#: What ends a sentence, in the scripts of the languages that are trained.
SENTENCE_ENDS = frozenset(".!?…。！？")
# Marks of category P that are a part of what they stand behind.
_KEPT = frozenset("%&#@*/§‰")


def unclosed(target: str, heard: Sequence[str]) -> str:
    """`target`, the translation of something unfinished, without final punctuation that is not heard yet.

    `heard` are the words of the source since this target became the translation: one that ends a sentence
    lets `target` end one, and one that ends with another mark lets it end with another mark.
    """
    ends = {word[-1:] for word in heard if _is_mark(word[-1:])}
    if ends & SENTENCE_ENDS:
        return target
    drop = SENTENCE_ENDS.__contains__ if ends else _is_mark
    end = len(target)
    while end and (target[end - 1].isspace() or drop(target[end - 1])):
        end -= 1
    return target[:end]


def _is_mark(character: str) -> bool:
    return bool(character) and unicodedata.category(character).startswith("P") and character not in _KEPT
