"""Stream clocks: the time when a translation was done, in seconds since the stream's first sample."""

from collections.abc import Callable
from typing import Protocol, TypeAlias

from operators.events import parted

# Maximum number of streams whose state is kept.
_MAX_STREAMS = 10_000
# Seconds of the window of recent delays, and of each of its parts. Clocks differ by 300 ppm at most, which is
# 0.4 s in the window. The documented alert looks back half as far.
_RECENT_S, _PART_S = 1200.0, 240.0

#: The start of each part of the window, and the smallest delay in it.
_Delays: TypeAlias = tuple[tuple[float, float], ...]


class Clock(Protocol):
    """Computes when work on an event was done."""

    def done(self, stream: str, arrival_s: float, spent_s: float) -> float:
        """When an event was done that arrived at ``arrival_s`` and took ``spent_s`` of work.

        ``stream`` may be the channel of one language (`channel_of`).
        """
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
    """Time as it passes, for streams from other machines, whose clocks differ from this machine's.

    The recent event with the smallest delay counts as having none, as in measurements of one-way delay. So
    the latency includes the wait for the model, and any wait before it. A stream's clock may be slow or fast,
    and may stop for a while, because old events do not count.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        """``now`` gives seconds on a monotonic clock."""
        self._now = now
        self._delays: dict[str, _Delays] = {}

    def heard(self, stream: str, at_s: float, came_s: float | None = None) -> None:
        """Record an event of time ``at_s`` on its stream's clock that arrived now, or at ``came_s``."""
        came_s = self._now() if came_s is None else came_s
        # The stream that was active last comes last.
        self._delays[stream] = _after(self._delays.pop(stream, ()), came_s, came_s - at_s)
        if len(self._delays) > _MAX_STREAMS:
            self._delays.pop(next(iter(self._delays)), None)

    def at(self, stream: str, now_s: float | None = None) -> float:
        """Seconds on a stream's clock, now or at ``now_s``; before its first event, our own clock's time."""
        delays = self._delays.get(stream, ())
        least_s = min((least_s for _, least_s in delays), default=0.0)
        return (self._now() if now_s is None else now_s) - least_s

    def done(self, stream: str, arrival_s: float, spent_s: float) -> float:
        stream, done_s = parted(stream)[0], arrival_s + spent_s
        return max(self.at(stream), done_s) if stream in self._delays else done_s


def _after(delays: _Delays, now_s: float, delay_s: float) -> _Delays:
    if delays and now_s - delays[-1][0] < _PART_S:
        *before, (began_s, least_s) = delays
        return (*before, (began_s, min(least_s, delay_s)))
    recent = tuple(one for one in delays if now_s - one[0] < _RECENT_S)
    return (*recent, (now_s, delay_s))
