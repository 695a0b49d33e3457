"""The output files of a run: locks against other runs, and counts of lost records."""

import errno
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from shutil import copyfile

from connectors.files.locks import lock
from connectors.files.output import WriteError, inherited, open_to_write
from operators.notifications import Missing, OutputChanged


class OutputWatch:
    """Locks a run's files, reports those that cannot be written, and counts the records that each lacks.

    Args:
        observe: Called on the worker's thread when a file can no longer be written.
        is_here: Whether this process has the files; False for all but the first one of a cluster.
    """

    def __init__(self, observe: Callable[[OutputChanged], None], *, is_here: bool = True) -> None:
        self.observe = observe
        self.is_here = is_here
        self._missing: dict[str, Missing] = {}
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
        is_new = not path.exists()
        try:
            self._locked[path] = file = open_to_write(path)
            lock(file)
        except BlockingIOError:
            busy = OSError(errno.EBUSY, "another run is writing to it; give each run its own files")
            raise WriteError(path, busy) from None
        except OSError as error:
            if path not in self._locked:
                raise WriteError(path, error) from None
            # Some file systems have no locks; a run on one is not protected.
        if is_new:
            self._created.append(path)

    def keep(self, path: Path) -> Path | None:
        """Copy a held file that is not empty to the first free name, as talk.srt.1~; return that name."""
        if path not in self._locked or not path.stat().st_size:
            return None
        copy = next(one for number in count(1) if not (one := Path(f"{path}.{number}~")).exists())
        try:
            copyfile(path, copy)
        except OSError as error:
            raise WriteError(copy, error) from None
        return copy

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
            if sys.platform == "win32":
                os.close(self._locked.pop(path))  # Windows does not remove open files
            with suppress(OSError):
                path.unlink()
        self._created.clear()
        while self._locked:
            os.close(self._locked.popitem()[1])

    def lose(self, path: str, records: int, reason: str) -> None:
        """Count records that a file or an address lacks, and report the first ones of a file."""
        known = self._missing.get(path)
        self._missing[path] = Missing(path, records + (known.records if known else 0), reason)
        if known is None:
            sentence = f"{path} cannot be written: {reason}; captions continue, and lost records are counted"
            self.observe(OutputChanged(path, sentence, is_late=True))

    def missing(self) -> list[Missing]:
        return list(self._missing.values())
