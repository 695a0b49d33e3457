"""Tables of text, for a terminal and for a document, and how figures become their cells."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.table import Table as RichTable
from rich.text import Text

from operators.errors import printable
from operators.text import cleaned


class Table(NamedTuple):
    """A table of text: the first column is aligned left, all others right."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    #: Groups of columns after the first one: name and number of columns of each, in order.
    groups: tuple[tuple[str, int], ...] = ()
    #: Sentences below the table.
    notes: tuple[str, ...] = ()

    def markdown(self) -> str:
        names = list(self.columns)
        for start, name, _ in self._groups():
            names[start] = f"{name}: {names[start]}"
        head = [names, ("---", *["---:"] * (len(self.columns) - 1)), *self.rows]
        lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in head]
        return "\n".join(
            [f"**{self.title}**", "", *lines, *(["", "  \n".join(self.notes)] if self.notes else [])]
        )

    def rich(self) -> RenderableType:
        gap = 1 if self.groups else 2
        table = RichTable(box=None, pad_edge=False, padding=(0, gap, 0, 0))
        for number, name in enumerate(self._spaced()):
            table.add_column(name, justify="right" if number else "left", no_wrap=number == 0)
        for row in self.rows:
            table.add_row(*map(escape, row))
        return Group(self._heading(gap), table) if self.groups else table

    def _groups(self) -> Iterator[tuple[int, str, int]]:
        """First column, name and number of columns of each group."""
        start = 1
        for name, count in self.groups:
            yield start, name, count
            start += count

    def _spaced(self) -> list[str]:
        """The column names, with a space before each group, and as many as its name needs."""
        names = list(self.columns)
        for start, group, count in self._groups():
            names[start] = f" {names[start]}"
            own = range(start, start + count)
            widths = [max(cell_len(row[one]) for row in (names, *self.rows)) for one in own]
            short = cell_len(group) + 1 - (sum(widths) + count - 1)
            names[own[-1]] = names[own[-1]].rjust(widths[-1] + max(0, short))
        return names

    def _heading(self, gap: int) -> Text:
        cells = zip(self._spaced(), *self.rows, strict=True)
        widths = [max(map(cell_len, column)) + gap for column in cells]
        line = " " * widths[0]
        for start, name, count in self._groups():
            line += set_cell_size(f" {name}", sum(widths[start : start + count]) - gap) + " " * gap
        return Text(line.rstrip(), style="bold", no_wrap=True)


class Column(NamedTuple):
    """A column of a table of rows, each of which is an object or a dict with figures."""

    heading: str
    #: A dotted path of fields, each of which may be None, or a function of the row.
    value: str | Callable[[Any], object]
    #: The number of decimals; None for other values than numbers.
    digits: int | None = None
    #: The unit after a number; ``%`` multiplies a share by 100.
    unit: str = ""

    def of(self, row: object) -> Any:
        """None if there is no value."""
        if not isinstance(self.value, str):
            return self.value(row)
        value: Any = row
        for name in self.value.split("."):
            if value is not None:
                value = value[name] if isinstance(value, dict) else getattr(value, name)
        return value

    def cell(self, row: object, absent: str = "–") -> str:
        value = self.of(row)
        if value is None:
            return absent
        if self.digits is None:
            return str(value)
        return percent(value, self.digits) if self.unit == "%" else number(value, self.digits) + self.unit


def tabulated(
    title: str,
    rows: Iterable[object],
    columns: Sequence[Column],
    *,
    absent: str = "–",
    notes: tuple[str, ...] = (),
) -> Table:
    return Table(
        title,
        tuple(column.heading for column in columns),
        tuple(tuple(column.cell(row, absent) for column in columns) for row in rows),
        notes=notes,
    )


def snippet(words: str, max_characters: int = 60) -> str:
    """The beginning of a text from outside, made safe to show."""
    words = cleaned(words)
    return words if len(words) <= max_characters else words[: max_characters - 1].rstrip() + "…"


def number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def percent(value: float | None, digits: int = 0) -> str:
    return "–" if value is None else f"{100 * value:.{digits}f} %"


def console() -> Console:
    """Standard output; without a terminal, lines are as long as the tables need."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else 10_000)


def print_named(out: Console, values: Iterable[tuple[str, object]], width: int = 9) -> None:
    """Print untrusted values, each on a line behind its name."""
    for name, value in values:
        out.print(f"{name:>{width}}  {printable(str(value))}", soft_wrap=True, markup=False)


def print_table(out: Console, table: Table) -> None:
    out.print(table.title, style="bold", markup=False)
    out.print(table.rich())
    for note in table.notes:
        out.print(note, soft_wrap=True, markup=False)
    out.print()
