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

    def measured(self) -> None:
        """One more event got to the log; any worker may call it."""
        with self._lock:
            self._measured += 1

    def is_ahead(self, delivered: int) -> bool:
        """Whether a source that has emitted this many events must wait."""
        return delivered - self._measured >= _MAX_AHEAD
