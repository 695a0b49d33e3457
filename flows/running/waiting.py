"""Tells a user what a wait is for: loading a model, getting through a recording."""

import logging
import sys
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from connectors.messages.log import tell
from operators.observed import LoadingAt, Observed, RecordingAt


class Waiting:
    """A progress line on stderr. It is silent when stderr is no terminal or the user asked for quiet."""

    takes = frozenset({LoadingAt, RecordingAt})

    def __init__(self, *, quiet: bool, captions: bool) -> None:
        """With ``captions`` on the terminal these show how far a recording is; no line is drawn then."""
        columns = TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()
        console = Console(stderr=True, quiet=quiet or not sys.stderr.isatty())
        self._progress = Progress(*columns, console=console, transient=True)
        self._captions = captions
        self._task: TaskID | None = None
        self._what = ""

    def __enter__(self) -> "Waiting":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def doing(self, what: str, fraction: float | None) -> None:
        """Say what is being done, and how much of it is done (0 to 1; None where nobody knows)."""
        if what != self._what:
            self.end()
            tell("progress", what, level=logging.INFO)
            self._progress.start()
            self._task = self._progress.add_task(what, total=None if fraction is None else 1.0)
            self._what = what
        if self._task is not None and fraction is not None:
            self._progress.update(self._task, completed=fraction)
            if fraction >= 1.0:
                self.end()

    def observe(self, event: Observed) -> None:
        """Say how far the loading of a model, or a recording, is."""
        match event:
            case LoadingAt(what, fraction):
                self.doing(what, fraction)
            case RecordingAt() if self._captions and sys.stdout.isatty():
                self.end()
            case RecordingAt(position_s, duration_s) if duration_s > 0:
                self.doing("translating the recording", position_s / duration_s)

    def end(self) -> None:
        """Take the line away."""
        if self._task is not None:
            self._progress.remove_task(self._task)
            self._progress.stop()
        self._task, self._what = None, ""
