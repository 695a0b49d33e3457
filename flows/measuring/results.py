"""A measurement while it runs, and its results: rows and tables, printed and written with a signature."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event as Flag
from typing import Any, NamedTuple, TypeVar

import msgspec

from connectors.files.atomic import write_atomically
from connectors.files.distinct import named_files
from connectors.messages import tell
from flows.pages.table import Table, console, print_named, print_table
from flows.running.interrupts import interrupt_sets
from flows.running.waiting import Waiting
from flows.settings.translate import TranslateSettings
from operators.errors import InterruptedRunError

T = TypeVar("T")


class Runner:
    """A measurement that runs."""

    def __init__(self, waiting: Waiting, stop: Flag) -> None:
        """``stop`` is set by Ctrl-C."""
        self.doing = waiting.doing
        self.end = waiting.end
        self.stop = stop
        self._tenths: int | None = None

    def go_on(self, why: str = "interrupted; nothing was written") -> None:
        """Raise `InterruptedRunError` after Ctrl-C."""
        if self.stop.is_set():
            raise InterruptedRunError(why)

    def each(self, items: Sequence[T], doing: str, named: str) -> Iterator[T]:
        """Yield all items; after Ctrl-C raise `InterruptedRunError`, with how many ``named`` are done."""
        for place, item in enumerate(items, start=1):
            yield item
            self.doing(doing, place / len(items))
            self.go_on(f"interrupted after {place} of {len(items)} {named}")

    def done(self, count: int, wanted: int) -> None:
        """Report finished trials: as a moving line on a terminal, otherwise as a line for each tenth."""
        self.doing("measuring", count / wanted)
        tenths = 10 * count // wanted
        if tenths != self._tenths and not sys.stderr.isatty():
            if self._tenths is not None or count:
                tell("bench_progress", f"{count} of {wanted} trials done", trials=count)
            self._tenths = tenths


@contextmanager
def running() -> Iterator[Runner]:
    """Run the block as a measurement, on the main thread."""
    stop = Flag()
    with interrupt_sets(stop), Waiting(quiet=False, captions=False) as waiting:
        yield Runner(waiting, stop)


def files_of(settings: TranslateSettings) -> Iterator[Path]:
    """The files that a translator with these settings reads, which nothing may overwrite."""
    return named_files(
        settings.model,
        settings.template,
        *settings.terminology,
        settings.heads,
        settings.draft_model,
    )


class Results(NamedTuple):
    """What a measurement has found."""

    signature: dict[str, Any]
    #: The lists of rows of the ``--json`` file.
    rows: Mapping[str, Sequence[Any]]
    tables: Sequence[Table]
    #: More tables for the document.
    more: Sequence[Table] = ()


def publish(
    results: Results,
    *,
    json: Path | None,
    markdown: Path | None = None,
) -> None:
    """Write signature and rows as ``json``, and the tables; print tables, signature and files.

    Raises `OutputError` when a file cannot be written.
    """
    content = msgspec.json.encode({"signature": results.signature, **results.rows})
    written: dict[Path, bytes] = {}
    if json is not None:
        written[json] = msgspec.json.format(content) + b"\n"
    if markdown is not None:
        written[markdown] = _document(results).encode()
    for path, made in written.items():
        write_atomically(path, made)
    out = console()
    for table in results.tables:
        print_table(out, table)
    print_named(out, [*_lines(results.signature), *(("written", path) for path in written)], 17)


def _document(results: Results) -> str:
    parts = [table.markdown() for table in (*results.tables, *results.more)]
    parts.append("\n".join(f"- {name}: `{value}`" for name, value in _lines(results.signature)))
    return "\n\n".join(parts) + "\n"


def _lines(signature: Mapping[str, Any]) -> list[tuple[str, str]]:
    """A line for each present field of a signature; models last."""
    models = {name: value for name, value in signature.items() if isinstance(value, dict)}
    plain = {name: value for name, value in signature.items() if name not in models and value is not None}
    shown = {
        name: f"{model.get('file')}|{model.get('bytes')} bytes|sha256:{model.get('sha256')}"
        for name, model in models.items()
    }
    return [(name, str(value)) for name, value in {**plain, **shown}.items()]
