"""Captions on a terminal, or as plain lines where the output is not a terminal.

Finished lines scroll up; the open captions and a status line are below them. The cursor is never hidden and
the keyboard settings never change, so a killed run leaves a usable terminal; `rich.live` hides it, and leaves
rows behind when the window becomes narrower.
"""

import contextlib
import errno
import math
import os
import stat
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import NamedTuple, Self, TextIO

from typing_extensions import override

from connectors.files.output import WriteError
from connectors.files.streams import obeys_escapes
from connectors.messages import log_event
from connectors.view import (
    COLUMNS,
    ROWS,
    CaptionRow,
    Status,
    caption_rows,
    encodable,
    roll_up,
    row_width,
    status_text,
)
from operators.errors import OutputError
from operators.events import Caption
from operators.languages import ENGLISH, Language, is_language
from operators.languages import language as language_of
from operators.speakers import introduced, shown_name
from operators.text import cleaned, settled, width, wrap

# Captions that wait for their finals; beyond that, the oldest ones count as finished.
_MAX_OPEN = 1024
# Seconds between two updates of the status line.
_STATUS_INTERVAL_S = 0.1
# Columns to the right of the status line kept free for the echo of Ctrl-C.
_ECHO = 2
_ERASE_LINE = "\x1b[K"


class Screen:
    """Shows captions as one line for each final, which begins with its language where there are several.

    Where the speaker changes, the name follows.

    Any thread may call any method, but signal handlers must not. Text from outside reaches the terminal only
    as text, never as control sequences.

    Args:
        viewer: Language of the captions that do not name theirs.
        is_logged: Log everything that is not a caption.
    """

    def __init__(self, out: TextIO, *, viewer: Language = ENGLISH, is_logged: bool = False) -> None:
        self._out = out
        self._viewer = viewer
        # The speaker of the last line in each language: the stream, and the name in it.
        self._spoke: dict[str, tuple[str, str]] = {}
        self._is_logged = is_logged
        self._lock = Lock()

    def draw(self, captions: Sequence[Caption]) -> None:
        """Show captions that arrived together.

        Raises:
            OutputError: when nobody reads the output any more or the disk is full.
        """
        with self._lock:
            lines = [self._line(one) for one in captions if one.is_final and cleaned(one.shown)]
            _write(self._out, "".join(lines))

    def _line(self, caption: Caption) -> str:
        language = caption.language or ""
        name = self._change(language, caption.stream, self._name(caption))
        return f"{f'{language}: ' if language else ''}{name}{cleaned(caption.shown)}\n"

    def _name(self, caption: Caption) -> str:
        """The speaker's name before the text of a caption: ``Anna: ``; empty if it is unknown."""
        code = caption.language or ""
        viewer = language_of(code) if is_language(code) else self._viewer
        name = shown_name(caption.speaker, viewer)
        return introduced(name, "", viewer) if name else ""

    def _change(self, language: str, stream: str, name: str) -> str:
        """The name before the text of a finished line; empty if the speaker is the same as before."""
        before = self._spoke.get(language)
        if name:
            self._spoke[language] = stream, name
        return "" if before == (stream, name) else name

    def status(self, status: Status) -> None:
        """Show the run's status, if there is a terminal.

        At most ten times a second; a status in between is shown at the next call of any method. If the
        output fails, `draw` reports it.
        """

    def notice(self, sentence: str) -> None:
        """Show the user a sentence that is not a caption: above the captions, or on standard error."""
        if self._is_logged:
            log_event("message", cleaned(sentence))
            return
        with self._lock, contextlib.suppress(OSError):
            print(f"surtitle: {cleaned(sentence)}", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Finish the open captions as plain lines and remove the status line; may be called more than once.

        Never raises: an error that ended the captions is already being reported.
        """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


class _Drawn(NamedTuple):
    """A caption as it was drawn last."""

    stream: str
    language: str
    text: str
    #: The speaker, from `Screen._name`, and whether it is shown before the text.
    name: str
    is_named: bool
    #: Number of its characters that were already in the previous caption.
    stands: int
    goes_on: bool

    @property
    def label(self) -> str:
        return self.name if self.is_named else ""


class Terminal(Screen):
    """Draws captions; remembers the lowest rows, and the cursor is always in the last of them."""

    def __init__(
        self,
        out: TextIO,
        columns: int,
        languages: Sequence[str],
        viewer: Language,
        now: Callable[[], float],
    ) -> None:
        super().__init__(out, viewer=viewer)
        self._columns = columns
        # The beginning of the lines of each language: its code, in a column of its own.
        length = max(map(len, languages), default=0)
        self._labels = {code: f"{code:{length}}  " for code in languages} or {"": ""}
        self._blank = " " * len(next(iter(self._labels.values())))
        self._now = now
        # By stream (or a language of it) and segment; what was updated last comes last.
        self._open: dict[tuple[str, int], _Drawn] = {}
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
            self._draw(notice=self._text(f"surtitle: {sentence}"))

    @override
    def close(self) -> None:
        with self._lock, contextlib.suppress(OutputError):
            left = [self._finished(one) for one in self._open.values()]
            self._open.clear()
            self._is_closed = True
            self._draw(left)

    def _take(self, captions: Sequence[Caption]) -> list[_Drawn]:
        """Remember the open captions; return the finished ones."""
        finished = []
        for caption in captions:
            key = caption.channel, caption.segment
            drawn = self._drawn_after(self._open.pop(key, None), caption)
            if caption.is_final:
                finished.append(self._finished(drawn))
            else:
                self._open[key] = drawn
            if len(self._open) > _MAX_OPEN:
                finished.append(self._finished(self._open.pop(next(iter(self._open)))))
        return finished

    def _drawn_after(self, before: _Drawn | None, caption: Caption) -> _Drawn:
        text, language = self._text(caption.shown), caption.language or ""
        # A name on display stays, whatever is known later.
        is_named = before is not None and before.is_named
        name = before.name if before and is_named else encodable(self._name(caption), _encoding(self._out))
        if name and not is_named and name != self._name_before(caption):
            # The name may arrive when words are already displayed. They move once, if all of them stay in
            # their row. In a longer caption, readers would lose their place, so only the final shows it.
            columns = self._columns_within(_size_of(self._out)[0])
            is_named = before is None or width(name + before.text) <= columns
        stands = settled(before.text, text) if before else 0
        return _Drawn(caption.stream, language, text, name, is_named, stands, bool(caption.withheld))

    def _name_before(self, caption: Caption) -> str:
        """The speaker of the stream's previous caption; empty if unknown."""
        earlier = [
            one.name
            for (channel, segment), one in self._open.items()
            if channel == caption.channel and segment < caption.segment and one.name
        ]
        stream, name = self._spoke.get(caption.language or "", ("", ""))
        return earlier[-1] if earlier else name if stream == caption.stream else ""

    def _finished(self, drawn: _Drawn) -> _Drawn:
        """The caption as it is drawn for good."""
        if not drawn.text:
            return drawn
        change = self._change(drawn.language, drawn.stream, drawn.name)
        return drawn._replace(is_named=drawn.is_named or bool(change))

    def _columns_within(self, width: int) -> int:
        # The last column stays free: terminals differ in where the cursor goes after writing there.
        return max(2, min(self._columns, width - 1 - len(self._blank)))

    def _draw(self, finished: Iterable[_Drawn] = (), notice: str = "") -> None:
        width, height = _size_of(self._out)
        columns = self._columns_within(width)
        above = [
            row
            for one in finished
            if one.text
            for row in self._labelled(caption_rows(one.text, columns, one.label), one.language)
        ]
        above += [CaptionRow("", line) for line in wrap(notice, max(2, width - 1))]
        below = self._caption_rows(columns, height) + self._status_rows(width, height) or [CaptionRow("")]
        before, self._drawn = self._drawn, below
        change = ""
        if any(row_width(row) >= width for row in before) or len(before) > height:
            change, before = erase(before, width), [CaptionRow("")]
        _write(self._out, change + redraw(before, above + below))

    def _caption_rows(self, columns: int, height: int) -> list[CaptionRow]:
        if not self._open:
            return []
        rows = max(1, min(ROWS, (height - 2) // len(self._labels)))
        newest = {one.language: one for one in self._open.values()}
        drawn = list[CaptionRow]()
        for language in self._labels:
            if one := newest.get(language):
                shown = roll_up(
                    one.text, columns, stands=one.stands, goes_on=one.goes_on, rows=rows, name=one.label
                )
                drawn += self._labelled(shown, language)
            elif language:
                # The other languages stay where they are.
                drawn += self._labelled([CaptionRow("")], language)
        return drawn

    def _labelled(self, rows: list[CaptionRow], language: str) -> list[CaptionRow]:
        """The rows of a caption; the first of them follows its language's label."""
        labels = [self._labels.get(language, self._blank), *[self._blank] * len(rows)]
        return [row._replace(margin=label) for label, row in zip(labels, rows, strict=False)]

    def _status_rows(self, width: int, height: int) -> list[CaptionRow]:
        now = self._now()
        if self._status is not self._newest_status and now - self._status_at >= _STATUS_INTERVAL_S:
            self._status, self._status_at = self._newest_status, now
        if self._status is None or self._is_closed or height < 2:
            return []
        return [CaptionRow("", status_text(self._status, max(2, width - 1 - _ECHO), _encoding(self._out)))]

    def _text(self, text: str) -> str:
        return encodable(cleaned(text), _encoding(self._out))


def open_screen(
    columns: int = COLUMNS,
    out: TextIO | None = None,
    *,
    languages: Sequence[str] = (),
    viewer: Language = ENGLISH,
    is_logged: bool = False,
    now: Callable[[], float] = monotonic,
) -> Screen:
    """A screen that draws on a terminal; for any other output it writes one line per final.

    On a terminal, the newest open caption takes at most two lines and becomes plain lines above them when it
    is final. Its new text is dim until the next update confirms it; so is the ``…`` for withheld text. If
    there are several languages, each has such lines, which begin with its code. The name is before the text
    where the speaker changes.

    Args:
        columns: Width of a caption line, which `operators.languages` defines per language. Lines are
            narrower if the terminal is.
        languages: Codes of the languages of captions, if there are several.
        viewer: The language of captions otherwise.
        is_logged: Draw nothing, and log everything that is not a caption.
        now: Seconds on a monotonic clock.
    """
    out = out or sys.stdout
    if not is_logged and out.isatty() and os.environ.get("TERM") != "dumb" and obeys_escapes(out):
        return Terminal(out, columns, languages, viewer, now)
    return Screen(out, viewer=viewer, is_logged=is_logged)


def redraw(before: list[CaptionRow], after: list[CaptionRow]) -> str:
    """The output that changes a terminal from showing ``before`` to showing ``after``.

    The cursor starts in the last row, and ends at the end of the last row; neither list is empty. Rows that
    do not fit on the screen scroll up. Rows are overwritten rather than erased, so that nothing flickers.
    """
    if before == after:
        return ""
    # The last row is always written: typed keys may have left their echo there.
    rows = ["" if row in before[at:-1][:1] else _styled(row) + _ERASE_LINE for at, row in enumerate(after)]
    text = _up(len(before) - 1) + "\r" + "\r\n".join(rows)
    if gone := max(0, len(before) - len(after)):
        end = row_width(after[-1])
        text += f"\r\n{_ERASE_LINE}" * gone + _up(gone) + "\r" + (f"\x1b[{end}C" if end else "")
    return text


def erase(drawn: list[CaptionRow], columns: int) -> str:
    """Erase rows, and leave the cursor where the first one began; it starts in the last row.

    Args:
        drawn: The drawn rows, never empty.
        columns: Current columns of the terminal, which has wrapped rows that are wider.
    """
    height = sum(max(1, -(-row_width(row) // columns)) for row in drawn)
    # One by one: a terminal may treat erasing the whole screen as scrolling it into its history.
    return _up(1).join([f"\r{_ERASE_LINE}"] * height)


def _styled(row: CaptionRow) -> str:
    name = f"\x1b[1m{row.name}\x1b[22m" if row.name else ""
    return row.margin + name + row.plain + (f"\x1b[2m{row.dim}\x1b[22m" if row.dim else "")


def _up(rows: int) -> str:
    return f"\x1b[{rows}A" if rows else ""


def _size_of(out: TextIO) -> tuple[int, int]:
    try:
        columns, rows = os.get_terminal_size(out.fileno())
    except (OSError, ValueError):
        return 80, 24
    # A terminal that does not know its size reports 0.
    return columns or 80, rows or 24


def _encoding(out: TextIO) -> str:
    return out.encoding or "utf-8"


def _write(out: TextIO, text: str) -> None:
    """Write ``text`` immediately, with question marks for characters that the encoding lacks.

    If the terminal is gone, this text and all later text is silently discarded.

    Raises:
        OutputError: when nobody reads the output any more or the disk is full.
    """
    if not text:
        return
    try:
        out.write(encodable(text, _encoding(out)))
        out.flush()
    except OSError as error:
        if not is_gone(out, error):
            trouble = WriteError(Path("standard output"), error)
            raise OutputError(f"{trouble}; add --quiet to print none") from None


def is_gone(out: TextIO, error: OSError) -> bool:
    """Whether an error means that a terminal is gone: its window closed, or its connection lost.

    Nothing can be repaired then, and the run's files still need completing, so later output is discarded.
    """
    if error.errno != errno.EIO or not stat.S_ISCHR(os.fstat(out.fileno()).st_mode):
        return False
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, out.fileno())
    os.close(nowhere)
    return True
