"""Captions as rows of a fixed width, as on television: the newest two lines, rolling up.

Everything here is pure; `connectors.terminal.drawing` draws the rows.
"""

from itertools import takewhile
from typing import NamedTuple

import regex

from operators.text import common_prefix, width, wrap

#: Columns of a caption line, unless the language defines another number.
COLUMNS = 42
#: Lines shown of an unfinished caption.
ROWS = 2
#: Stands for the withheld end of a caption.
ELLIPSIS = "…"

# Where a word may end (Unicode word boundaries, UAX 29): in scripts without spaces after each ideograph.
_BOUNDARY = regex.compile(r"(?w)\b")


class CaptionRow(NamedTuple):
    """One line on display: plain text, followed by dim text."""

    plain: str
    dim: str = ""


def settled(before: str, after: str) -> int:
    """Number of characters of ``after`` already in ``before``: the whole words with which both begin."""
    common = common_prefix(before, after)
    return max(_word_ends(before, common) & _word_ends(after, common), default=0)


def _word_ends(text: str, last: int) -> set[int]:
    ends = (boundary.start() for boundary in _BOUNDARY.finditer(text))
    return set(takewhile(lambda end: end <= last, ends))


def roll_up(shown: str, columns: int, *, stands: int, goes_on: bool, rows: int = ROWS) -> list[CaptionRow]:
    """The last rows of an unfinished caption.

    Args:
        shown: The text on display, cleaned.
        columns: Columns of a line.
        stands: Characters at the start of ``shown`` that are settled; the others are dim.
        goes_on: Whether the end is withheld.
        rows: Maximum number of rows to return.
    """
    # Spaces are not counted, because those at line breaks are gone.
    left = stands - shown.count(" ", 0, stands)
    drawn = []
    for line in wrap(shown, columns):
        plain = _start(line, left)
        left -= len(plain) - plain.count(" ")
        drawn.append(CaptionRow(plain, line[len(plain) :]))
    if goes_on:
        if not drawn or row_width(drawn[-1]) + width(ELLIPSIS) > columns:
            # On a line of its own, the ellipsis does not move any displayed word.
            drawn.append(CaptionRow(""))
        drawn[-1] = drawn[-1]._replace(dim=drawn[-1].dim + ELLIPSIS)
    return drawn[-rows:]


def _start(line: str, count: int) -> str:
    """The start of a line that contains ``count`` characters, not counting spaces."""
    for end, char in enumerate(line):
        if count == 0:
            return line[:end]
        count -= char != " "
    return line


def row_width(row: CaptionRow) -> int:
    """Number of columns of a row."""
    return width(row.plain) + width(row.dim)
