"""Reports when no snapshots are made: Bytewax times them by the wall clock, which may be set back."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from connectors.messages.log import tell

#: Seconds between two checks of the clock.
_CHECK_INTERVAL_S = 1.0
#: Smaller changes are ignored: clocks are adjusted by milliseconds all the time.
_MIN_CHANGE_S = 2.0


class SnapshotClock:
    """Determines how long Bytewax makes no snapshot.

    Args:
        wall: Seconds on the wall clock, which may be set.
        steady: Seconds on a monotonic clock.
    """

    def __init__(
        self, wall: Callable[[], float] = time.time, steady: Callable[[], float] = time.monotonic
    ) -> None:
        self._wall, self._steady = wall, steady
        #: Wall-clock time from which snapshots are made again.
        self.until = wall()
        self._ahead = wall() - steady()
        self._is_reported = False

    def check(self) -> float | None:
        """Seconds without snapshots, if that has just changed (0 when there are some again); else None."""
        wall, ahead = self._wall(), self._wall() - self._steady()
        if ahead < self._ahead - _MIN_CHANGE_S:
            # Bytewax waits for a time that it has recorded before the change.
            self.until = max(self.until, self._ahead + self._steady())
            self._ahead, self._is_reported = ahead, True
            return self.until - wall
        self._ahead = ahead
        if self._is_reported and wall >= self.until:
            self._is_reported = False
            return 0.0
        return None


@contextmanager
def reporting_clock_changes(folder: Path) -> Iterator[None]:
    """Meanwhile, tell the user when nothing can be stored in a folder, and when that works again."""
    clock, is_over = SnapshotClock(), threading.Event()

    def watch() -> None:
        while not is_over.wait(_CHECK_INTERVAL_S):
            seconds = clock.check()
            if seconds:
                tell(
                    "clock_set_back",
                    f"the clock was set back: for {seconds:.0f} s no snapshot is stored in {folder}; "
                    "to store one now, end the run with Ctrl-C or SIGTERM and start it again",
                    seconds=round(seconds),
                )
            elif seconds is not None:
                tell("clock_caught_up", f"snapshots are stored in {folder} again")

    thread = threading.Thread(target=watch, name="clock", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
