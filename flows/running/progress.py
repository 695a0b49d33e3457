"""The progress line: shows why the user waits, such as for a model or a recording."""

import logging
import sys
from threading import RLock

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from connectors.messages import log_event
from operators.errors import printable
from operators.notifications import LoadingAt, Observed, RecordingAt, SourceOpened


class ProgressLine:
    """A progress line on stderr. It is silent if stderr is not a terminal or the user asked for quiet."""

    def __init__(self, *, quiet: bool, captions: bool) -> None:
        """With ``captions`` on the terminal, no line is drawn: the captions' status shows the position."""
        columns = TextColumn("{task.description}", markup=False), BarColumn(), TimeRemainingColumn()
        console = Console(stderr=True, quiet=quiet or not sys.stderr.isatty())
        # Standard output is redirected above the line, unless it goes into a file.
        self._progress = Progress(
            *columns, console=console, transient=True, redirect_stdout=sys.stdout.isatty()
        )
        self._captions = captions
        self._task: TaskID | None = None
        self._what = self._prefix = ""
        self._lock = RLock()

    def __enter__(self) -> "ProgressLine":
        return self

    def __exit__(self, *_error: object) -> None:
        self.end()

    def doing(self, what: str, fraction: float | None) -> None:
        """``fraction`` is the part that is done, 0 to 1; None if unknown."""
        with self._lock:
            if what != self._what:
                self.end()
                log_event("progress", what, level=logging.INFO)
                self._progress.start()
                total = None if fraction is None else 1.0
                self._task = self._progress.add_task(printable(self._prefix + what), total=total)
                self._what = what
            if self._task is not None and fraction is not None:
                self._progress.update(self._task, completed=fraction)
                if fraction >= 1.0:
                    self.end()

    def observe(self, event: Observed) -> None:
        match event:
            case SourceOpened():
                with self._lock:
                    self._prefix = "listening; "
                    if self._task is not None:
                        self._progress.update(self._task, description=printable(self._prefix + self._what))
            case LoadingAt(what, fraction):
                self.doing(what, fraction)
            case RecordingAt() if self._captions and sys.stdout.isatty():
                self.end()
            case RecordingAt(position_s, duration_s) if duration_s > 0:
                self.doing("translating the recording", position_s / duration_s)

    def end(self) -> None:
        with self._lock:
            if self._task is not None:
                self._progress.remove_task(self._task)
                self._progress.stop()
            self._task, self._what = None, ""
