"""The output files of a run: locked against other runs, and asked for what they lack."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from connectors.files.output import WriteError, inherited, lock, open_to_write
from operators.notifications import Missing, OutputChanged


class OutputWatch:
    """Locks a run's files, passes on which cannot be written, and knows what each lacks.

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
        self._locked: dict[Path, int] = {}
        # Files that did not exist before.
        self._created: list[Path] = []

    def hold(self, path: Path) -> None:
        """Lock a regular file against other runs until `close`; it is created if necessary.

        Raises:
            WriteError: when it cannot be written, or another run is writing to it.
        """
        if path in self._locked or inherited(path) is not None or (path.exists() and not path.is_file()):
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
        self._locked[path] = file
        if is_new:
            self._created.append(path)

    def begin(self, path: Path, text: str) -> None:
        """Replace the contents of a held file with ``text``; other files are left alone."""
        file = self._locked.get(path)
        if file is None:
            return
        try:
            os.ftruncate(file, 0)
            os.write(file, text.encode())
        except OSError as error:
            raise WriteError(path, error) from None

    def begun(self) -> None:
        """Keep the files that were created for this run."""
        self._created.clear()

    def close(self) -> None:
        """Unlock the files; if the run has not begun, remove those created for it."""
        for path in self._created:
            # As long as the file is locked, no other run can have started to write it.
            with suppress(OSError):
                path.unlink()
        self._created.clear()
        while self._locked:
            os.close(self._locked.popitem()[1])

    def watch(self, missing: Callable[[], Missing | None]) -> Callable[[], None]:
        """Register a function that returns what a file lacks; it is called when the run is over.

        Returns what to call when the file is closed and lacks nothing.
        """
        self._files.append(missing)
        return lambda: self._files.remove(missing)

    def missing(self) -> list[Missing]:
        """What the files lack by now."""
        return [missing for ask in self._files if (missing := ask()) is not None]
