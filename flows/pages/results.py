"""Results of a benchmark, printed and written: tables, the signature, and which files were written."""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console

from connectors.files.whole import write_whole
from flows.pages.table import Table
from operators.printable import printable


def console(width: int = 140) -> Console:
    """Standard output; ``width`` is used if it is not a terminal."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else width)


def print_table(out: Console, table: Table) -> None:
    """Print a table below its title, with its notes."""
    out.print(table.title, style="bold", markup=False)
    out.print(table.rich())
    for note in table.notes:
        out.print(note, soft_wrap=True, markup=False)
    out.print()


def print_results(
    shown: Iterable[Table],
    signature: dict[str, Any],
    written: Iterable[Path | None],
    below: Sequence[str] = (),
) -> None:
    """Print tables, lines ``below`` them, the signature, and the names of the files that were written."""
    out = console()
    for table in shown:
        print_table(out, table)
    for line in below:
        out.print(line, soft_wrap=True, markup=False)
    if below:
        out.print()
    files = [("written", str(path)) for path in written if path is not None]
    for name, value in [*_lines(signature), *files]:
        out.print(f"{name:>17}  {printable(value)}", soft_wrap=True, markup=False)


def write_json(path: Path | None, results: msgspec.Struct) -> None:
    """Write the results if a file is given. Raises `OutputError`."""
    if path is not None:
        write_whole(path, msgspec.json.format(msgspec.json.encode(results)) + b"\n")


def write_markdown(
    path: Path | None, shown: Iterable[Table], signature: dict[str, Any], below: Sequence[str] = ()
) -> None:
    """Write the tables and the signature if a file is given. Raises `OutputError`."""
    if path is not None:
        parts = [table.markdown() for table in shown]
        if below:
            parts.append("  \n".join(below))
        parts.append("\n".join(f"- {name}: `{value}`" for name, value in _lines(signature)))
        write_whole(path, ("\n\n".join(parts) + "\n").encode())


def _lines(signature: dict[str, Any]) -> list[tuple[str, str]]:
    """A line for each present field of a signature; models last."""
    models = {name: value for name, value in signature.items() if isinstance(value, dict)}
    plain = {name: value for name, value in signature.items() if name not in models and value is not None}
    shown = {
        name: f"{model.get('file')}|{model.get('bytes')} bytes|sha256:{model.get('sha256')}"
        for name, model in models.items()
    }
    return [(name, str(value)) for name, value in {**plain, **shown}.items()]
