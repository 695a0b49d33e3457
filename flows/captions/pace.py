"""How far a replay may read ahead of its log."""

from threading import Lock

#: Events that are ahead when every one of them gets to the log.
_MAX_AHEAD = 100


class Pace:
    """Keeps a replay a little ahead of what was measured, so that all workers are busy.

    What is read still earlier would only be done again by a run that was killed, and take room.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._measured = 0

    def measured(self) -> None:
        """One more event got to the log; any worker says so."""
        with self._lock:
            self._measured += 1

    def is_ahead(self, handed: int) -> bool:
        """Whether a source that has handed over so many events is to wait."""
        return handed - self._measured >= _MAX_AHEAD
