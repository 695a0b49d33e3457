"""Joins two pieces of a sentence: the false full stop and the false capital at their seam go."""

import regex

from operators.languages import Language
from operators.sentences.opinion import has_own_capitals
from operators.sentences.words import COMMAS, parted, small_words

# Words that are said twice on purpose.
_TWICE = frozenset({"had", "that", "no", "very", "so"})
_FIRST = regex.compile(r"\A([\"'“‘«(\[¿¡]*)(\S+)(.*)\Z", regex.DOTALL)


def mend(before: str, after: str, language: Language, *, mark: str = "", keeps_capital: bool = False) -> str:
    """The sentence of both, with ``mark`` (a comma or nothing) between them.

    A small word that was heard on both sides (``which | Which were``) is written once.
    """
    stem, marks, closing = parted(before)
    if not stem or not after.strip():
        return before.rstrip() + after.strip()
    rest = _without_double(stem, after.strip(), language)
    if rest is not None:
        return f"{stem}{closing}{language.joint}{rest}" if rest else f"{stem}{closing}"
    if not language.joint:
        kept = marks if marks and all(one in COMMAS for one in marks) else ""
        return stem + kept + closing + after.strip()
    following = after.strip() if keeps_capital else _small(after.strip())
    return f"{stem}{mark}{closing}{language.joint}{following}"


def ended(sentence: str) -> str:
    """The text of a sentence that is over: a comma that the recogniser put behind it becomes a full stop."""
    stem, marks, closing = parted(sentence)
    if not stem or not marks or any(mark not in COMMAS for mark in marks):
        return sentence
    return f"{stem}{'。' if marks[-1] in '，、；：' else '.'}{closing}"


def _without_double(stem: str, after: str, language: Language) -> str | None:
    """The text after the seam without a small word that the text before it ends with; None without one."""
    last, (first, _, rest) = stem.split()[-1], after.partition(" ")
    word, mark, _ = parted(first)
    small = small_words(language.code)
    is_heard_twice = last.casefold() == word.casefold() and word.casefold() in small.open | small.rarely_last
    if not is_heard_twice or word.casefold() in _TWICE or (mark and rest):
        return None
    return rest


def _small(text: str) -> str:
    match = _FIRST.match(text)
    if match is None or has_own_capitals(match[2]):
        return text
    first = match[2][:1].lower()
    return text if len(first) != 1 else f"{match[1]}{first}{match[2][1:]}{match[3]}"
