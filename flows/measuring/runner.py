"""What all measurements do while they run: they show their progress, and end where Ctrl-C asks them to."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event as Flag
from typing import TypeVar

from connectors.files.distinct import named_files
from connectors.messages.log import tell
from flows.running.interrupts import interrupt_sets
from flows.running.waiting import Waiting
from flows.settings.schema import TranslateSettings
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
            self.end()
            raise InterruptedRunError(why)

    def each(self, items: Sequence[T], doing: str, named: str) -> Iterator[T]:
        """Yield all items, unless Ctrl-C ends the run between two of them.

        Raises:
            InterruptedRunError: says how many of the ``named`` items are done.
        """
        for number, item in enumerate(items, start=1):
            yield item
            self.doing(doing, number / len(items))
            self.go_on(f"interrupted after {number} of {len(items)} {named}")

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
        settings.glossary,
        settings.dictionary,
        settings.heads,
        settings.draft_model,
    )
