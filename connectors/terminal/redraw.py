"""Computes the output that changes a terminal's rows: only the differences.

Only a few control sequences are used, which every terminal supports (ECMA-48). Everything here is pure.
"""

from itertools import groupby
from typing import NamedTuple

from connectors.view.rows import CaptionRow, row_width
from operators.text_layout import cluster_width, clusters

_DIM, _NOT_DIM = "\x1b[2m", "\x1b[22m"
_ERASE_LINE = "\x1b[K"


class _Cell(NamedTuple):
    """One character of a row."""

    text: str
    is_dim: bool
    column: int

    @property
    def is_sure(self) -> bool:
        """False if terminals disagree about the width."""
        return len(self.text) == 1 and cluster_width(self.text) > 0


def redraw(before: list[CaptionRow], after: list[CaptionRow]) -> str:
    """The output that changes a terminal from showing ``before`` to showing ``after``.

    The cursor starts in the last row, and ends at the end of the last row; neither list is empty. Rows that
    do not fit on the screen scroll up.
    """
    if before == after:
        return ""
    # Typed keys may have left their echo there.
    parts = [_to_column(row_width(before[-1])), _ERASE_LINE]
    at = len(before) - 1
    for number, row in enumerate(after):
        if number >= len(before):
            parts += [_vertically(number - 1 - at), "\r\n", _styled(_cells(row))]
        elif row != before[number]:
            parts += [_vertically(number - at), _row_change(_cells(before[number]), _cells(row))]
        else:
            continue
        at = number
    last = len(after) - 1
    if len(before) > len(after):
        parts += [_vertically(last + 1 - at), _erase_rows(len(before) - len(after), downwards=True)]
        at = len(before) - 1
    parts += [_vertically(last - at), _to_column(row_width(after[last]))]
    return "".join(parts)


def erase(drawn: list[CaptionRow], columns: int) -> str:
    """Erase rows, and leave the cursor where the first one began; it starts in the last row.

    Args:
        drawn: The drawn rows, never empty.
        columns: Current columns of the terminal, which has wrapped rows that are wider.
    """
    height = sum(max(1, -(-row_width(row) // columns)) for row in drawn)
    return _erase_rows(height, downwards=False)


def _erase_rows(count: int, *, downwards: bool) -> str:
    # One by one: a terminal may treat erasing the whole screen as scrolling it into its history.
    next_row = _vertically(1 if downwards else -1)
    return next_row.join([f"\r{_ERASE_LINE}"] * count)


def _cells(row: CaptionRow) -> list[_Cell]:
    cells, column = [], 0
    for text, is_dim in ((row.plain, False), (row.dim, True)):
        for cluster in clusters(text):
            cells.append(_Cell(cluster, is_dim, column))
            column += cluster_width(cluster)
    return cells


def _row_change(before: list[_Cell], after: list[_Cell]) -> str:
    start = 0
    for old, new in zip(before, after, strict=False):
        if old != new or not new.is_sure:
            break
        start += 1
    if not all(cell.is_sure for cell in [*before[start:], *after[start:]]):
        # Beyond this point the columns of characters are unknown.
        return f"{_to_column(_end(after[:start]))}{_styled(after[start:])}{_ERASE_LINE}"
    there = set(before)
    parts = []
    for is_there, same in groupby(after, there.__contains__):
        if not is_there:
            cells = list(same)
            parts += [_to_column(cells[0].column), _styled(cells)]
    if _end(after) < _end(before):
        parts += [_to_column(_end(after)), _ERASE_LINE]
    return "".join(parts)


def _end(cells: list[_Cell]) -> int:
    return cells[-1].column + cluster_width(cells[-1].text) if cells else 0


def _styled(cells: list[_Cell]) -> str:
    spans = ((is_dim, "".join(cell.text for cell in span)) for is_dim, span in groupby(cells, _is_dim))
    return "".join(f"{_DIM}{text}{_NOT_DIM}" if is_dim else text for is_dim, text in spans)


def _is_dim(cell: _Cell) -> bool:
    return cell.is_dim


def _vertically(rows: int) -> str:
    if rows == 0:
        return ""
    return f"\x1b[{rows}B" if rows > 0 else f"\x1b[{-rows}A"


def _to_column(column: int) -> str:
    return f"\r\x1b[{column}C" if column else "\r"
