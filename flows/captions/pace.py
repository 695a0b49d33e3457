"""Limits how far a replay reads ahead of its log."""

from threading import Lock

#: Number of events read ahead, where every event gets to the log.
_MAX_AHEAD = 100


class Pace:
    """Keeps a replay slightly ahead of its log, so that all workers are busy.

    Reading further ahead would cost memory, and a killed run would have to repeat that work.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._measured = 0

    def measured(self, more: int = 1) -> None:
        """So many more events got to the log; any worker may call it.

        Those that a stage has merged never will, so they count at once; those that it added count as -1.
        """
        with self._lock:
            self._measured += more

    def is_ahead(self, delivered: int) -> bool:
        """Whether a source that has emitted this many events must wait."""
        return delivered - self._measured >= _MAX_AHEAD
