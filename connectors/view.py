"""The content of every view, on a terminal and in a browser; all functions are pure.

Captions are rows of a fixed width, as on television: the newest two lines, rolling up. Under them is the
status line: the run's state, the level of the sound, the delay.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

from operators.text import cleaned, width, wrap

#: Columns of a caption line, unless the language defines another number.
COLUMNS = 42
#: Lines shown of an unfinished caption.
ROWS = 2
#: Stands for the withheld end of a caption.
ELLIPSIS = "…"


class CaptionRow(NamedTuple):
    """One line on display: a margin, the speaker, plain text, dim text, in this order."""

    plain: str
    dim: str = ""
    name: str = ""
    margin: str = ""


def caption_rows(text: str, columns: int, name: str = "") -> list[CaptionRow]:
    """The rows of a text after the ``name`` of its speaker, as from `introduced`; all cleaned."""
    return _named([CaptionRow(line) for line in wrap(name + text, columns)], name)


def _named(rows: list[CaptionRow], name: str) -> list[CaptionRow]:
    """The rows of a text that begins with a name, which is marked unless it is too long for a row."""
    if not rows or not rows[0].plain.startswith(name):
        return rows
    return [rows[0]._replace(plain=rows[0].plain[len(name) :], name=name), *rows[1:]]


def roll_up(
    shown: str, columns: int, *, stands: int, goes_on: bool, rows: int = ROWS, name: str = ""
) -> list[CaptionRow]:
    """The last rows of an unfinished caption.

    Args:
        shown: The text on display, cleaned.
        name: The name of the speaker that is before the text, as for `caption_rows`.
        stands: Characters at the start of ``shown`` that are settled; the others are dim.
        goes_on: Whether the end is withheld.
    """
    shown, stands = name + shown, len(name) + stands
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
    return _named(drawn, name)[-rows:]


def _start(line: str, count: int) -> str:
    """The start of a line that contains ``count`` characters, not counting spaces."""
    for end, char in enumerate(line):
        if count == 0:
            return line[:end]
        count -= char != " "
    return line


def row_width(row: CaptionRow) -> int:
    return sum(map(width, row))


#: Cells of the level meter, and the level in dBFS at which it is empty; it is full at 0.
_METER_CELLS, _QUIETEST_DBFS = 10, -60.0
# A cell filled by zero, one, two, … eighths.
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_GAP = "  "


@dataclass(frozen=True, kw_only=True)
class Status:
    """The status of a run at one moment; fields that are None are not shown."""

    #: In a word or a few: ``listening``, ``speech``, ``no microphone``, ``connection lost``.
    state: str
    #: Level of the audio, in dBFS.
    level_dbfs: float | None = None
    #: Seconds since the streams began.
    elapsed_s: float | None = None
    #: Total duration of the input in seconds, if known.
    duration_s: float | None = None
    #: Recent delay from speech to its caption, in seconds.
    lag_s: float | None = None
    #: Seconds of lost audio; shown if there are any.
    dropped_s: float = 0.0
    #: Updates superseded by newer ones; shown if there are any.
    overtaken: int = 0


def status_text(status: Status, columns: int, encoding: str = "utf-8") -> str:
    """The status in one line of at most ``columns`` (2 or more) columns, in characters of ``encoding``.

    Parts that do not fit are omitted, the least important first.
    """
    state, *others = [part for part in _parts(status, encoding) if part]
    text = next(iter(wrap(state, columns)), "")
    for part in others:
        if width(text) + len(_GAP) + width(part) <= columns:
            text += (_GAP if text else "") + part
    return text


def _parts(status: Status, encoding: str) -> list[str]:
    return [
        encodable(cleaned(status.state), encoding) or "-",
        "" if status.level_dbfs is None else f"[{_meter(status.level_dbfs, encoding)}]",
        _elapsed(status),
        "" if status.lag_s is None else f"lag {max(0.0, status.lag_s):.1f} s",
        f"{status.dropped_s:.1f} s of sound lost" if status.dropped_s > 0 else "",
        f"{status.overtaken} superseded" if status.overtaken > 0 else "",
    ]


def encodable(text: str, encoding: str) -> str:
    """The text with a question mark for each character that ``encoding`` lacks."""
    return text.encode(encoding, "replace").decode(encoding)


def _meter(level_dbfs: float, encoding: str) -> str:
    share = 0.0 if math.isnan(level_dbfs) else min(1.0, max(0.0, 1 - level_dbfs / _QUIETEST_DBFS))
    eighths = round(share * 8 * _METER_CELLS)
    bar = "".join(_EIGHTHS[min(8, max(0, eighths - 8 * cell))] for cell in range(_METER_CELLS))
    if encodable(_EIGHTHS, encoding) == _EIGHTHS:
        return bar
    return ("#" * round(share * _METER_CELLS)).ljust(_METER_CELLS)


def _elapsed(status: Status) -> str:
    if status.elapsed_s is None:
        return ""
    of = "" if status.duration_s is None else f" of {_clock(status.duration_s)}"
    return _clock(status.elapsed_s) + of


def _clock(seconds: float) -> str:
    minutes, second = divmod(int(max(0.0, seconds)), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"
