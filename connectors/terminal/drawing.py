"""Draws captions on a terminal: finished lines scroll up, the open caption and a status line are below them.

The cursor is never hidden and the keyboard settings never change, so a killed run leaves a usable terminal.
"""

import contextlib
import math
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from time import monotonic
from typing import NamedTuple, TextIO

from typing_extensions import override

from connectors.terminal.redraw import erase, redraw
from connectors.terminal.screen import Lines, LoggedLines, Screen, encoding_of, write
from connectors.view.rows import COLUMNS, ROWS, CaptionRow, roll_up, row_width, settled
from connectors.view.status import Status, encodable, status_text
from operators.errors import OutputError
from operators.events import Caption
from operators.text_layout import cleaned, wrap

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
    is_logged: bool = False,
    now: Callable[[], float] = monotonic,
) -> Screen:
    """A screen that draws on a terminal; for any other output it writes one line per final.

    On a terminal, the newest open caption takes at most two lines and becomes plain lines above them when it
    is final. Its new text is dim until the next update confirms it; so is the ``…`` for withheld text.

    Args:
        columns: Width of a caption line, which `operators.languages` defines per language. Lines are
            narrower if the terminal is.
        out: Where to write; standard output by default.
        is_logged: Draw nothing, and log everything that is not a caption.
        now: Seconds on a monotonic clock.
    """
    out = out or sys.stdout
    if is_logged:
        return LoggedLines(out)
    if out.isatty() and os.environ.get("TERM") != "dumb":
        return _Drawn(out, columns, now)
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

    def __init__(self, out: TextIO, columns: int, now: Callable[[], float]) -> None:
        self._out = out
        self._columns = columns
        self._now = now
        self._lock = Lock()
        # By stream and segment; what was updated last comes last.
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
            left = [left.text for segments in self._open.values() for left in segments.values()]
            self._open.clear()
            self._is_closed = True
            self._draw(left)

    def _take(self, captions: Sequence[Caption]) -> list[str]:
        """Remember the open captions; return the texts of the finished ones."""
        finished = []
        for caption in captions:
            text = self._encodable(caption.shown)
            segments = self._open.get(caption.stream, {})
            before = segments.pop(caption.segment, None)
            if caption.is_final:
                finished.append(text)
            else:
                stands = settled(before.text, text) if before else 0
                segments[caption.segment] = _Open(text, stands, bool(caption.withheld))
                self._open.pop(caption.stream, None)
                self._open[caption.stream] = segments
            if len(segments) > _MAX_OPEN:
                finished.append(segments.pop(next(iter(segments))).text)
            if not segments:
                self._open.pop(caption.stream, None)
            if len(self._open) > _MAX_STREAMS:
                gone = self._open.pop(next(iter(self._open)))
                finished += [left.text for left in gone.values()]
        return finished

    def _draw(self, finished: Iterable[str] = (), notice: str = "") -> None:
        size = _size_of(self._out)
        # The last column stays free: terminals differ in where the cursor goes after writing there.
        columns = max(2, min(self._columns, size.columns - 1))
        above = [CaptionRow(line) for text in finished for line in wrap(text, columns)]
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
        *_, newest = next(reversed(self._open.values())).values()
        rows = max(1, min(ROWS, rows - 2))
        return roll_up(newest.text, columns, stands=newest.stands, goes_on=newest.goes_on, rows=rows)

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
