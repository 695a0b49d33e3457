"""Stream clocks: when a translation was done, in seconds since the stream's first sample."""

import math
from collections.abc import Callable
from typing import Protocol

# Streams whose beginning is remembered.
_MAX_STREAMS = 10_000


class Clock(Protocol):
    """Says when work on an event was done."""

    def done(self, stream: str, arrival_s: float, spent_s: float) -> float:
        """When work was done that took ``spent_s`` on an event that arrived at ``arrival_s``."""
        ...


class VirtualClock:
    """Time as it would have passed if the events had come at their arrival times.

    Work begins when the event has arrived and the previous work is done: a queue with one server. A recording
    that is processed as fast as possible thus gets the latencies that it would have had live.

    Example:
        >>> from operators import VirtualClock
        >>> clock = VirtualClock()
        >>> clock.done("talk", arrival_s=1.0, spent_s=0.5), clock.done("talk", arrival_s=1.1, spent_s=0.5)
        (1.5, 2.0)
    """

    def __init__(self) -> None:
        self._done: dict[str, float] = {}

    def done(self, stream: str, arrival_s: float, spent_s: float) -> float:
        """The arrival or the end of the previous work, whichever is later, plus the time spent."""
        at = max(arrival_s, self._done.pop(stream, 0.0)) + spent_s
        # The stream that was active last comes last.
        self._done[stream] = at
        if len(self._done) > _MAX_STREAMS:
            self._done.pop(next(iter(self._done)), None)
        return at


class WallClock:
    """Time as it passes, for streams that are played or recorded live.

    Example:
        >>> from operators import WallClock
        >>> clock = WallClock(now=lambda: 3.0)
        >>> clock.done("talk", arrival_s=1.0, spent_s=0.5)
        3.0
    """

    def __init__(self, now: Callable[[], float]) -> None:
        """``now`` gives the seconds since the streams began."""
        self._now = now

    def done(self, stream: str, arrival_s: float, spent_s: float) -> float:  # noqa: ARG002 - a Clock
        """Now, but never before the event's arrival."""
        return max(self._now(), arrival_s)


class LagClock:
    """Time as it passes, for streams from another program, whose beginning nobody says.

    The event of a stream that came with the least delay so far counts as one without any, as in measurements
    of one-way delay. Waiting for the model is thus a part of the latency, and waiting before that is, too.

    Example:
        >>> from operators.clock import LagClock
        >>> now = iter([100.5, 102.5])
        >>> clock = LagClock(now=lambda: next(now))
        >>> clock.done("talk", arrival_s=1.0, spent_s=0.5), clock.done("talk", arrival_s=2.0, spent_s=0.5)
        (1.5, 3.5)
    """

    def __init__(self, now: Callable[[], float]) -> None:
        """``now`` gives seconds on a monotonic clock."""
        self._now = now
        self._began: dict[str, float] = {}

    def done(self, stream: str, arrival_s: float, spent_s: float) -> float:
        """Now, on the clock of the stream."""
        now = self._now()
        began = min(self._began.pop(stream, math.inf), now - spent_s - arrival_s)
        # The stream that was active last comes last.
        self._began[stream] = began
        if len(self._began) > _MAX_STREAMS:
            self._began.pop(next(iter(self._began)), None)
        return now - began
