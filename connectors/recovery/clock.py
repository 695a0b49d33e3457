"""Tells when nothing is remembered: Bytewax makes its snapshots by the wall clock, which may be set back."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from connectors.messages.log import tell

#: Seconds between two looks at the clock.
_LOOK_S = 1.0
#: Clocks are set by some milliseconds all the time.
_WORTH_TELLING_S = 2.0


class SnapshotClock:
    """Knows until when Bytewax makes no snapshot.

    Args:
        wall: Seconds on the clock that may be set.
        steady: Seconds on one that goes on at the same pace.
    """

    def __init__(
        self, wall: Callable[[], float] = time.time, steady: Callable[[], float] = time.monotonic
    ) -> None:
        self._wall, self._steady = wall, steady
        #: The time of the wall clock by which a snapshot is made again.
        self.until = wall()
        self._ahead = wall() - steady()
        self._told = False

    def look(self) -> float | None:
        """Seconds for which there will be no snapshot, when that is news; 0 when there are some again."""
        wall, ahead = self._wall(), self._wall() - self._steady()
        if ahead < self._ahead - _WORTH_TELLING_S:
            # Bytewax waits for a time that it has taken down before.
            self.until = max(self.until, self._ahead + self._steady())
            self._ahead, self._told = ahead, True
            return self.until - wall
        self._ahead = ahead
        if self._told and wall >= self.until:
            self._told = False
            return 0.0
        return None


@contextmanager
def told_of_clock(folder: Path) -> Iterator[None]:
    """Tell meanwhile when nothing can be remembered in a folder, and when it can be again."""
    clock, is_over = SnapshotClock(), threading.Event()

    def watch() -> None:
        while not is_over.wait(_LOOK_S):
            seconds = clock.look()
            if seconds:
                tell(
                    "clock_set_back",
                    f"the clock was set back: for {seconds:.0f} s nothing new is remembered in {folder}; "
                    "to have it remembered, end the run with Ctrl-C or SIGTERM and start it again",
                    seconds=round(seconds),
                )
            elif seconds is not None:
                tell("clock_caught_up", f"what is done is remembered in {folder} again")

    thread = threading.Thread(target=watch, name="clock", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
