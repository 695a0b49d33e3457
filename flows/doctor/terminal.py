"""The terminal: whether captions can be drawn on it."""

import os
import shutil
import sys

import msgspec
from rich.console import Console

from flows.doctor.finding import Finding

#: Columns of a caption line in most languages.
_COLUMNS = 42
#: Rows of the captions and the status line.
_ROWS = 4


class TerminalFacts(msgspec.Struct, frozen=True):
    """Standard output."""

    is_terminal: bool
    encoding: str
    columns: int
    rows: int
    has_colors: bool
    #: The variable of the environment that chooses the encoding; empty if none is set.
    locale: str


def look() -> TerminalFacts:
    """Look at standard output."""
    size = shutil.get_terminal_size()
    # The progress line stands in for sys.stdout while it is shown.
    output = sys.__stdout__ or sys.stdout
    names = ("LC_ALL", "LC_CTYPE", "LANG")
    return TerminalFacts(
        is_terminal=output.isatty(),
        encoding=output.encoding or "",
        columns=size.columns,
        rows=size.lines,
        has_colors=Console(file=output).color_system is not None,
        locale=next((os.environ[name] for name in names if os.environ.get(name)), ""),
    )


def judge(facts: TerminalFacts) -> list[Finding]:
    """Whether captions can be shown here as they are meant."""
    found = []
    if facts.encoding.lower().replace("-", "").replace("_", "") != "utf8":
        found.append(
            Finding.warning(
                f"The encoding is {facts.encoding or 'unknown'}, which lacks letters of many languages",
                "choose UTF-8: export LC_ALL=C.UTF-8",
            )
        )
    if not facts.is_terminal:
        found.append(Finding.ok("The output is not a terminal: captions are printed as lines"))
        return found
    if facts.columns < _COLUMNS or facts.rows < _ROWS:
        found.append(
            Finding.warning(
                f"The terminal has {facts.columns} columns and {facts.rows} rows: captions are broken up",
                f"enlarge it to {_COLUMNS} columns and {_ROWS} rows",
            )
        )
    if not found:
        colors = "colours" if facts.has_colors else "no colours"
        found.append(Finding.ok(f"{facts.columns} columns, {facts.rows} rows, {facts.encoding}, {colors}"))
    return found
