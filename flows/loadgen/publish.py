"""Prints and writes the results of ``surtitle loadgen``."""

import sys
from pathlib import Path

import msgspec
from rich.console import Console

from connectors.files.whole import write_whole
from flows.bench.publish import signature_lines
from flows.loadgen.plot import plot
from flows.loadgen.rows import table
from flows.loadgen.run import LoadResults

#: Width of the output if it is not a terminal.
_PLAIN_WIDTH = 140


def publish(results: LoadResults, json: Path | None, picture: Path | None) -> None:
    """Print the table, and write the requested files. Raises `OutputError`."""
    shown = table(results.rows)
    if json is not None:
        write_whole(json, msgspec.json.format(msgspec.json.encode(results)) + b"\n")
    if picture is not None:
        write_whole(picture, plot(results.rows).encode())
    console = Console(highlight=False, width=None if sys.stdout.isatty() else _PLAIN_WIDTH)
    console.print(shown.title, style="bold")
    console.print(shown.rich())
    for note in shown.notes:
        console.print(note, soft_wrap=True, markup=False)
    console.print()
    for name, value in signature_lines(results.signature):
        console.print(f"{name:>17}  {value}", soft_wrap=True, markup=False)
    for path in (json, picture):
        if path is not None:
            console.print(f"{'written':>17}  {path}", soft_wrap=True, markup=False)
