"""Punctuation at the end of an unfinished text: nothing is written that was not heard yet.

An unfinished sentence has no full stop, and a clause whose end was not heard has no comma.
"""

import unicodedata
from collections.abc import Sequence

#: Punctuation that ends a sentence, in the scripts of the trained languages.
SENTENCE_ENDS = frozenset(".!?…。！？")
# Marks of category P that belong to the character before them.
_KEPT = frozenset("%&#@*/§‰")


def unclosed(target: str, heard: Sequence[str]) -> str:
    """`target`, the translation of an unfinished text, without final punctuation that is not heard yet.

    `heard` are the source words since this target became the translation. If one of them ends a sentence,
    `target` may end one; if one ends with another mark, `target` may end with another mark.
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
