"""Captions as rows of a fixed width, as on television: the newest two lines, rolling up.

Broadcast practice: at most 42 columns a line, 30 for Chinese and Japanese, whose characters take two
columns each. Everything here is pure; `connectors.terminal` draws the rows.
"""

import unicodedata
from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple

import regex
import wcwidth

from operators.prefix import common_prefix

#: Columns of a caption line, unless the language has a number of its own.
COLUMNS = 42
#: Lines of an unfinished caption that are on display.
ROWS = 2
#: Stands for the tail that is withheld.
ELLIPSIS = "…"

# CSI sequences; strings such as a window's title up to their end; all other escapes (ECMA-48).
_ESCAPE = regex.compile(
    r"(?:\x1b\[|\x9b)[0-?]*+[ -/]*+[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*+(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*+[0-~]"
)
# Bidi embeddings, overrides and isolates; further invisible characters that only carry instructions.
_INSTRUCTION = regex.compile(
    r"[\u00ad\u200b\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e007f]"
)
# All white space but the spaces that forbid a line break, and whatever controls a terminal.
_SPACE = regex.compile(r"(?:[^\S\u00a0\u2007\u202f]|\p{Cc}|\p{Zl}|\p{Zp})+")

_OPENING = r"[「『（【〈《〔［｛“‘]"
_CLOSING = r"[、。，．！？；：・」』）】〉》〕］｝”’…ー々ぁぃぅぇぉっゃゅょァィゥェォッャュョ]"
_IDEOGRAPH = r"[\p{Han}\p{Hiragana}\p{Katakana}\u3000-\u303f\uff01-\uff60]"
# What stays on one line: an ideograph with the punctuation that clings to it, or a word of other letters.
_PIECE = regex.compile(
    rf"{_OPENING}{{0,3}}{_IDEOGRAPH}\p{{M}}*+{_CLOSING}{{0,3}}+|(?:(?!{_IDEOGRAPH}).)++|.", regex.DOTALL
)
_CLUSTER = regex.compile(r"\X")
# Where a word may end (Unicode word boundaries, UAX 29): in scripts without spaces after each ideograph.
_BOUNDARY = regex.compile(r"(?w)\b")


class Row(NamedTuple):
    """One line on display: plain text, and dim text that follows it."""

    plain: str
    dim: str = ""


def cleaned(text: str) -> str:
    """The text on one line, with nothing in it that a terminal would obey instead of showing it.

    Escape sequences, control characters, bidi overrides and lone surrogates go; white space is one space.
    """
    text = _INSTRUCTION.sub("", _ESCAPE.sub("", text))
    # After the others: what is left of a sequence that was cut in two must not become one.
    text = _SPACE.sub(" ", text).strip(" ")
    return "".join("\ufffd" if unicodedata.category(char) == "Cs" else char for char in text)


def clusters(text: str) -> list[str]:
    """The characters of a cleaned text as a reader sees them (grapheme clusters)."""
    return _CLUSTER.findall(text)


def width(text: str) -> int:
    """Columns that a cleaned text takes."""
    return len(text) if text.isascii() else sum(map(cluster_width, clusters(text)))


@lru_cache(4096)
def cluster_width(cluster: str) -> int:
    """Columns that one character takes."""
    return max(0, wcwidth.wcswidth(cluster))


def wrap(text: str, columns: int) -> list[str]:
    """Break a cleaned text into lines of at most ``columns`` (2 or more) columns.

    Lines break at spaces, which are dropped there, and next to any Chinese or Japanese character; words
    that are longer than a line break between two characters as a reader sees them.
    """
    lines: list[str] = []
    line, used = "", 0
    for word in text.split(" "):
        gap = " " if line else ""
        for piece in _PIECE.findall(word):
            if used + len(gap) + width(piece) > columns:
                lines += [line] if line else []
                *full, line = _split(piece, columns)
                lines += full
                used = width(line)
            else:
                line += gap + piece
                used += len(gap) + width(piece)
            gap = ""
    return [*lines, line] if line else lines


def _split(piece: str, columns: int) -> list[str]:
    parts, used = [""], 0
    for cluster in clusters(piece):
        # Conjoining letters can pile up into a cluster that is wider than any line.
        for part in (cluster,) if cluster_width(cluster) <= columns else cluster:
            if used + cluster_width(part) > columns:
                parts.append("")
                used = 0
            parts[-1] += part
            used += cluster_width(part)
    return parts


def settled(before: str, after: str) -> int:
    """Characters of ``after`` that stood in ``before`` already: the whole words that both begin with."""
    common = common_prefix(before, after)
    return max(_word_ends(before, common) & _word_ends(after, common), default=0)


def _word_ends(text: str, last: int) -> set[int]:
    ends = (boundary.start() for boundary in _BOUNDARY.finditer(text))
    return set(takewhile(lambda end: end <= last, ends))


def roll_up(shown: str, columns: int, *, stands: int, goes_on: bool, rows: int = ROWS) -> list[Row]:
    """The last rows of an unfinished caption.

    :arg shown: The text on display, cleaned.
    :arg columns: Columns of a line.
    :arg stands: Characters at the start of ``shown`` that are settled; all others are dim.
    :arg goes_on: Whether a tail is withheld.
    :arg rows: Rows to return, at most.
    """
    # Spaces do not count: those at which lines break are gone.
    left = stands - shown.count(" ", 0, stands)
    drawn = []
    for line in wrap(shown, columns):
        plain = _start(line, left)
        left -= len(plain) - plain.count(" ")
        drawn.append(Row(plain, line[len(plain) :]))
    if goes_on:
        if not drawn or row_width(drawn[-1]) + width(ELLIPSIS) > columns:
            # In a line of its own the ellipsis moves no word that is already on display.
            drawn.append(Row(""))
        drawn[-1] = drawn[-1]._replace(dim=drawn[-1].dim + ELLIPSIS)
    return drawn[-rows:]


def _start(line: str, count: int) -> str:
    """As much of a line as has ``count`` characters beside its spaces."""
    for end, char in enumerate(line):
        if count == 0:
            return line[:end]
        count -= char != " "
    return line


def row_width(row: Row) -> int:
    """Columns that a row takes."""
    return width(row.plain) + width(row.dim)
