"""Limits how often messages of a kind are sent. Pure."""

from typing import Generic, TypeVar

M = TypeVar("M")


class Pace(Generic[M]):
    """Limits the rate of one kind of message: only the newest message waits, replacing older ones."""

    def __init__(self, interval_s: float) -> None:
        """``interval_s`` is the minimum time between two messages, in seconds."""
        self._interval_s = interval_s
        self._passed_s = float("-inf")
        self._waits: M | None = None

    def offer(self, message: M) -> None:
        """Let a message wait for its turn, replacing one that waits."""
        self._waits = message

    def due(self, now_s: float) -> M | None:
        """Remove and return the waiting message if it is due."""
        message = self._waits
        if message is None or now_s - self._passed_s < self._interval_s:
            return None
        self._waits, self._passed_s = None, now_s
        return message
