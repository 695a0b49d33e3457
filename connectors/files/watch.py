"""Sees to the files of a run: keeps other runs from them, and tells when one is late and what each lacks."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from connectors.files.output import WriteError, inherited, lock
from operators.missing import Missing
from operators.observed import OutputChanged


class OutputWatch:
    """Tells when a file cannot be written, and when it is again, and knows what each lacks.

    Args:
        observe: Told on the worker's thread when a file cannot be written, and when it is again.
    """

    def __init__(self, observe: Callable[[OutputChanged], None]) -> None:
        self.observe = observe
        self._files: list[Callable[[], Missing | None]] = []
        self._held: dict[Path, int] = {}
        # Those that were not there before.
        self._made: list[Path] = []

    def hold(self, path: Path) -> None:
        """Keep other runs from a regular file until a sink takes it; it is made unless it is there.

        Raises:
            WriteError: when it cannot be written, or another run is writing it.
        """
        if path in self._held or inherited(path) is not None or (path.exists() and not path.is_file()):
            return
        try:
            is_new = not path.exists()
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
            try:
                lock(file)
            except OSError:
                os.close(file)
                raise
        except OSError as error:
            raise WriteError(path, error) from None
        self._held[path] = file
        if is_new:
            self._made.append(path)

    def begun(self) -> None:
        """The files stay that were made for this run."""
        self._made.clear()

    def unmake(self) -> None:
        """Leave no file behind that was made for this run, unless it has begun."""
        for path in self._made:
            # As long as it is locked, no other run can have begun to write it.
            with suppress(OSError):
                path.unlink()
            self._close(path)
        self._made.clear()

    def begin(self, path: Path, text: str) -> None:
        """Leave nothing but ``text`` in a file that is held; another one is left alone.

        Raises:
            WriteError: when that cannot be written.
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
        """Give a file that is held to a sink of this run, open and locked; None where it is not held."""
        return self._held.pop(path, None)

    def close(self) -> None:
        """Let go of the files that no sink has taken; those that were made for a run that was refused go."""
        self.unmake()
        for path in list(self._held):
            self._close(path)

    def _close(self, path: Path) -> None:
        file = self._held.pop(path, None)
        if file is not None:
            os.close(file)

    def watch(self, missing: Callable[[], Missing | None]) -> None:
        """Ask this for what a file lacks when the run is over."""
        self._files.append(missing)

    def missing(self) -> list[Missing]:
        """What files lack by now."""
        return [missing for ask in self._files if (missing := ask()) is not None]
