"""Watches a run's output files: locks them, reports which are late, and knows what each lacks."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from connectors.files.output import WriteError, inherited, lock, open_to_write
from operators.notifications import Missing, OutputChanged


class OutputWatch:
    """Reports when a file cannot be written and when it can again, and knows what each file lacks.

    Args:
        observe: Called on the worker's thread for each such change.
        is_here: Whether this process has the files; False for all but the first one of a cluster.
    """

    def __init__(self, observe: Callable[[OutputChanged], None], *, is_here: bool = True) -> None:
        self.observe = observe
        self.is_here = is_here
        #: When sinks give up what they still send, on the monotonic clock; None until the run ends.
        self.ends_at_s: float | None = None
        self._files: list[Callable[[], Missing | None]] = []
        self._held: dict[Path, int] = {}
        # Files that did not exist before.
        self._created: list[Path] = []

    def hold(self, path: Path) -> None:
        """Lock a regular file against other runs until a sink takes it; it is created if necessary.

        Raises:
            WriteError: when it cannot be written, or another run is writing to it.
        """
        if path in self._held or inherited(path) is not None or (path.exists() and not path.is_file()):
            return
        try:
            is_new = not path.exists()
            file = open_to_write(path)
            try:
                lock(file)
            except OSError:
                os.close(file)
                raise
        except OSError as error:
            raise WriteError(path, error) from None
        self._held[path] = file
        if is_new:
            self._created.append(path)

    def begun(self) -> None:
        """Keep the files that were created for this run."""
        self._created.clear()

    def remove_created(self) -> None:
        """Remove the files that were created for this run, unless it has begun."""
        for path in self._created:
            # As long as the file is locked, no other run can have started to write it.
            with suppress(OSError):
                path.unlink()
            self._close(path)
        self._created.clear()

    def begin(self, path: Path, text: str) -> None:
        """Replace the contents of a held file with ``text``; other files are left alone.

        Raises:
            WriteError: when the file cannot be written.
        """
        file = self._held.get(path)
        if file is None:
            return
        try:
            os.ftruncate(file, 0)
            os.write(file, text.encode())
        except OSError as error:
            raise WriteError(path, error) from None

    def take(self, path: Path) -> int | None:
        """Pass a held file to a sink of this run, open and locked; None if it is not held."""
        return self._held.pop(path, None)

    def close(self) -> None:
        """Release files that no sink has taken; if the run was refused, remove those created for it."""
        self.remove_created()
        for path in list(self._held):
            self._close(path)

    def _close(self, path: Path) -> None:
        file = self._held.pop(path, None)
        if file is not None:
            os.close(file)

    def watch(self, missing: Callable[[], Missing | None]) -> Callable[[], None]:
        """Register a function that returns what a file lacks; it is called when the run is over.

        Returns what to call when the file is closed and lacks nothing.
        """
        self._files.append(missing)
        return lambda: self._files.remove(missing)

    def missing(self) -> list[Missing]:
        """What the files lack by now."""
        return [missing for ask in self._files if (missing := ask()) is not None]
