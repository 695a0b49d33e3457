"""Figures need a quiet machine: background work gives the cores away while something is measured.

A lock file in the user's cache: `measuring` holds it shared, and `GivesWay` waits until nobody does. The
system releases it when its holder ends, however that ends.
"""

import fcntl
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from platformdirs import user_cache_path

# Long enough for who waits for the lock to get it between two steps of background work.
_GAP_S = 0.05


def lock_file() -> Path | None:
    """The lock's file, made if it is missing; None if the cache cannot be written."""
    path = _place()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    except OSError:
        return None
    return path


@contextmanager
def measuring() -> Iterator[None]:
    """Keep background work from the cores; waits for the end of its present step, some seconds."""
    with ExitStack() as held:
        # Without a file nothing has ever run in the background here.
        with suppress(OSError):
            _lock(held.enter_context(_place().open("rb")), fcntl.LOCK_SH)
        yield


def _place() -> Path:
    return user_cache_path("surtitle") / "measuring.lock"


class GivesWay:
    """Background work that calls `pause` between its steps."""

    def __init__(self, path: Path | None) -> None:
        """``path`` is the lock's file; None gives way to nobody."""
        self._file = None if path is None else path.open("rb")
        self._hold()

    def pause(self) -> float:
        """Wait while something is measured; the seconds of waiting."""
        if self._file is None:
            return 0.0
        began = time.monotonic()
        fcntl.flock(self._file, fcntl.LOCK_UN)
        time.sleep(_GAP_S)
        self._hold()
        return time.monotonic() - began - _GAP_S

    def close(self) -> None:
        """Release the lock."""
        if self._file is not None:
            self._file.close()

    def _hold(self) -> None:
        # Held during a step, so that who measures begins when the step has ended.
        if self._file is not None:
            _lock(self._file, fcntl.LOCK_EX)


def _lock(file: BinaryIO, kind: int) -> None:
    try:
        fcntl.flock(file, kind)
    except OSError:
        return  # Some file systems have no locks: nothing is protected there.
