"""Punctuation at the end of an unfinished text: what nobody has said yet is not written.

A sentence that goes on has no full stop, and a clause whose end has not been heard has no comma.
"""

import unicodedata

#: What ends a sentence, in the scripts of the languages that are trained.
SENTENCE_ENDS = frozenset(".!?…。！？")
# Marks of category P that are a part of what they stand behind.
_KEPT = frozenset("%&#@*/§‰")


def unclosed(target: str, source: str) -> str:
    """`target`, the translation of the unfinished `source`, without the punctuation that `source` does not have yet.

    An end of a sentence stays where the source ends one, and any other mark where the source ends with any.
    """
    heard = source.rstrip()[-1:]
    if heard in SENTENCE_ENDS and heard:
        return target.rstrip()
    if _is_mark(heard):
        return target.rstrip().rstrip("".join(SENTENCE_ENDS)).rstrip()
    end = len(target)
    while end and (target[end - 1].isspace() or _is_mark(target[end - 1])):
        end -= 1
    return target[:end]


def _is_mark(character: str) -> bool:
    return bool(character) and unicodedata.category(character).startswith("P") and character not in _KEPT
