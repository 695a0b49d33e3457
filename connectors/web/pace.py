"""How often messages of a kind may be sent. Pure."""

from typing import Generic, TypeVar

M = TypeVar("M")


class Pace(Generic[M]):
    """Lets messages of a kind pass at most so often: the newest waits, in place of one that did."""

    def __init__(self, interval_s: float) -> None:
        """``interval_s`` is the least time between two messages, in seconds."""
        self._interval_s = interval_s
        self._passed_s = float("-inf")
        self._waits: M | None = None

    def offer(self, message: M) -> None:
        """Let a message wait for its turn."""
        self._waits = message

    def due(self, now_s: float) -> M | None:
        """The message that waits, if it is its turn; it waits no longer then."""
        message = self._waits
        if message is None or now_s - self._passed_s < self._interval_s:
            return None
        self._waits, self._passed_s = None, now_s
        return message
