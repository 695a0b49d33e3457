"""Draws captions on a terminal: finished lines scroll up, the open caption and a status line are below them.

The cursor is never hidden and the keyboard settings never change, so a killed run leaves a usable terminal.

Only the differences between two states of the rows are written, with a few control sequences that every
terminal supports (ECMA-48).
"""

import contextlib
import math
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from threading import Lock
from time import monotonic
from typing import NamedTuple, TextIO

from typing_extensions import override

from connectors.terminal.screen import Lines, LoggedLines, Screen, encoding_of, write
from connectors.view import (
    COLUMNS,
    ROWS,
    CaptionRow,
    Status,
    encodable,
    roll_up,
    row_width,
    status_text,
)
from operators.errors import OutputError
from operators.events import Caption, parted
from operators.text import cleaned, cluster_width, clusters, settled, wrap

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


# Captions of a stream that wait for their final, and streams with such captions; beyond that, the oldest ones
# count as finished.
_MAX_OPEN, _MAX_STREAMS = 8, 1024
# Seconds between two updates of the status line.
_STATUS_INTERVAL_S = 0.1
# Columns to the right of the status line kept free for the echo of Ctrl-C.
_ECHO = 2


def open_screen(
    columns: int = COLUMNS,
    out: TextIO | None = None,
    *,
    languages: Sequence[str] = (),
    is_logged: bool = False,
    now: Callable[[], float] = monotonic,
) -> Screen:
    """A screen that draws on a terminal; for any other output it writes one line per final.

    On a terminal, the newest open caption takes at most two lines and becomes plain lines above them when it
    is final. Its new text is dim until the next update confirms it; so is the ``…`` for withheld text. Of
    several languages, each has such lines, which begin with its code.

    Args:
        columns: Width of a caption line, which `operators.languages` defines per language. Lines are
            narrower if the terminal is.
        languages: Codes of the languages of captions, if there are several.
        is_logged: Draw nothing, and log everything that is not a caption.
        now: Seconds on a monotonic clock.
    """
    out = out or sys.stdout
    if is_logged:
        return LoggedLines(out)
    if out.isatty() and os.environ.get("TERM") != "dumb":
        return _Drawn(out, columns, languages, now)
    return Lines(out)


class _Size(NamedTuple):
    columns: int
    rows: int


class _Open(NamedTuple):
    """A caption waiting for its final."""

    text: str
    #: Number of its characters that were already in the previous caption.
    stands: int
    goes_on: bool


class _Drawn(Screen):
    """Remembers the contents of the lowest rows; the cursor is always in the last of them."""

    def __init__(self, out: TextIO, columns: int, languages: Sequence[str], now: Callable[[], float]) -> None:
        self._out = out
        self._columns = columns
        # What the lines of each language begin with: its code, in a column of its own.
        length = max(map(len, languages), default=0)
        self._labels = {code: f"{code:{length}}  " for code in languages} or {"": ""}
        self._now = now
        self._lock = Lock()
        # By stream (or a language of it) and segment; what was updated last comes last.
        self._open: dict[str, dict[int, _Open]] = {}
        self._drawn = [CaptionRow("")]
        self._is_closed = False
        self._newest_status: Status | None = None
        self._status: Status | None = None
        self._status_at = -math.inf

    @override
    def draw(self, captions: Sequence[Caption]) -> None:
        with self._lock:
            self._draw(self._take(captions))

    @override
    def status(self, status: Status) -> None:
        with self._lock, contextlib.suppress(OutputError):
            self._newest_status = status
            self._draw()

    @override
    def notice(self, sentence: str) -> None:
        with self._lock, contextlib.suppress(OutputError):
            self._draw(notice=self._encodable(f"surtitle: {sentence}"))

    @override
    def close(self) -> None:
        with self._lock, contextlib.suppress(OutputError):
            left = [
                (left.text, parted(channel)[1])
                for channel, segments in self._open.items()
                for left in segments.values()
            ]
            self._open.clear()
            self._is_closed = True
            self._draw(left)

    def _take(self, captions: Sequence[Caption]) -> list[tuple[str, str]]:
        """Remember the open captions; return the texts of the finished ones, with their languages."""
        finished = []
        for caption in captions:
            text = self._encodable(caption.shown)
            channel, language = caption.channel, caption.language or ""
            segments = self._open.get(channel, {})
            before = segments.pop(caption.segment, None)
            if caption.is_final:
                finished.append((text, language))
            else:
                stands = settled(before.text, text) if before else 0
                segments[caption.segment] = _Open(text, stands, bool(caption.withheld))
                self._open.pop(channel, None)
                self._open[channel] = segments
            if len(segments) > _MAX_OPEN:
                finished.append((segments.pop(next(iter(segments))).text, language))
            if not segments:
                self._open.pop(channel, None)
            if len(self._open) > _MAX_STREAMS:
                oldest = next(iter(self._open))
                gone = self._open.pop(oldest)
                finished += [(left.text, parted(oldest)[1]) for left in gone.values()]
        return finished

    def _draw(self, finished: Iterable[tuple[str, str]] = (), notice: str = "") -> None:
        size = _size_of(self._out)
        # The last column stays free: terminals differ in where the cursor goes after writing there.
        columns = max(2, min(self._columns, size.columns - 1 - len(self._label(""))))
        above = [
            row
            for text, language in finished
            for row in self._labelled([CaptionRow(line) for line in wrap(text, columns)], language)
        ]
        above += [CaptionRow("", line) for line in wrap(notice, max(2, size.columns - 1))]
        below = self._caption_rows(columns, size.rows) + self._status_rows(size) or [CaptionRow("")]
        change = ""
        if any(row_width(row) >= size.columns for row in self._drawn) or len(self._drawn) > size.rows:
            change = erase(self._drawn, size.columns)
            self._drawn = [CaptionRow("")]
        change += redraw(self._drawn, above + below)
        # Updated before a write can fail: a screen closed after an error must not draw it again.
        self._drawn = below
        write(self._out, change)

    def _caption_rows(self, columns: int, rows: int) -> list[CaptionRow]:
        if not self._open:
            return []
        rows = max(1, min(ROWS, (rows - 2) // len(self._labels)))
        drawn = list[CaptionRow]()
        for language in self._labels:
            own = (one for channel, one in reversed(self._open.items()) if parted(channel)[1] == language)
            if (segments := next(own, None)) is not None:
                *_, newest = segments.values()
                shown = roll_up(newest.text, columns, stands=newest.stands, goes_on=newest.goes_on, rows=rows)
                drawn += self._labelled(shown, language)
            elif language:
                # The other languages stay where they are.
                drawn += self._labelled([CaptionRow("")], language)
        return drawn

    def _label(self, language: str) -> str:
        """What lines begin with; spaces for an unknown language."""
        return self._labels.get(language) or " " * len(next(iter(self._labels.values())))

    def _labelled(self, rows: list[CaptionRow], language: str) -> list[CaptionRow]:
        """The rows of a caption behind its language's label."""
        label, blank = self._label(language), self._label("")
        return [CaptionRow((blank if at else label) + row.plain, row.dim) for at, row in enumerate(rows)]

    def _status_rows(self, size: _Size) -> list[CaptionRow]:
        now = self._now()
        if self._status is not self._newest_status and now - self._status_at >= _STATUS_INTERVAL_S:
            self._status, self._status_at = self._newest_status, now
        if self._status is None or self._is_closed or size.rows < 2:
            return []
        text = status_text(self._status, max(2, size.columns - 1 - _ECHO), encoding_of(self._out))
        return [CaptionRow("", text)]

    def _encodable(self, text: str) -> str:
        return encodable(cleaned(text), encoding_of(self._out))


def _size_of(out: TextIO) -> _Size:
    try:
        size = os.get_terminal_size(out.fileno())
    except (OSError, ValueError):
        return _Size(80, 24)
    # A terminal that does not know its size reports 0.
    return _Size(size.columns or 80, size.lines or 24)
