"""What a load is put on, and what is measured of it."""

from collections import Counter
from threading import Lock
from typing import NamedTuple, Protocol

from flows.measuring.playback import Load
from operators.metrics.quantiles import Quantiles

#: Number of stretches of time in which the lag is also measured on its own: it shows whether the lag grows.
STRETCHES = 20


class Counts(NamedTuple):
    """What came of a load."""

    updates: int = 0
    finals: int = 0
    #: Partials that newer ones overtook.
    dropped: int = 0
    #: Segments that never got their final.
    lost: int = 0
    #: Rooms that were not admitted.
    refused: int = 0
    #: Rooms whose captions ended before the last one.
    cut: int = 0


class Meter:
    """Counts what comes back from a load; thread-safe."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._lock = Lock()
        self._counts = Counter[str]()
        self.lags_s = Quantiles()
        self._stretches = [Quantiles() for _ in range(STRETCHES)]

    def caption(self, at_s: float, lag_s: float, *, is_final: bool) -> None:
        """A caption came ``at_s`` seconds after the load began, with this delay."""
        place = int(STRETCHES * at_s / self._seconds)
        with self._lock:
            self._counts.update(updates=1, finals=is_final)
            self.lags_s.add(lag_s)
            self._stretches[min(max(place, 0), STRETCHES - 1)].add(lag_s)

    def add(self, **more: int) -> None:
        """Count what did not come, by the names of `Counts`."""
        with self._lock:
            self._counts.update(more)

    @property
    def counts(self) -> Counts:
        """All that was counted."""
        return Counts(**self._counts)

    def over_time(self) -> list[tuple[float, float]]:
        """Median lag of each stretch of time that had captions: its middle and the lag, in seconds."""
        width = self._seconds / STRETCHES
        return [
            ((place + 0.5) * width, lags.at(0.5)[0])
            for place, lags in enumerate(self._stretches)
            if lags.count
        ]


class Target(Protocol):
    """Takes a load."""

    #: Its name in tables.
    name: str

    def run(self, load: Load, meter: Meter) -> None:
        """Let all rooms speak for the time of the load, and wait a bounded time for the last captions.

        Raises:
            SurtitleError: when nothing can be measured.
        """
        ...

    def memory_mb(self) -> float | None:
        """Megabytes of the process that translates, now; None if unknown."""
        ...
