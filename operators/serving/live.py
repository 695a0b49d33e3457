"""Runs rooms in real time: updates arrive at their times while the model is busy."""

from collections.abc import Callable, Iterable
from time import perf_counter, sleep
from typing import NamedTuple, Protocol, TypeVar

from operators.metrics.quantiles import Quantiles
from operators.serving.rooms import Done, Rooms, Update

State = TypeVar("State")
Made = TypeVar("Made")


class Clock(Protocol):
    """Seconds since the rooms began."""

    def now(self) -> float:
        """The current time."""
        ...

    def wait_until(self, at_s: float) -> None:
        """Let time pass up to ``at_s``."""
        ...


class RealClock:
    """Time as it passes."""

    def __init__(self) -> None:
        self._began = perf_counter()

    def now(self) -> float:
        """The current time."""
        return perf_counter() - self._began

    def wait_until(self, at_s: float) -> None:
        """Sleep until then."""
        sleep(max(0.0, at_s - self.now()))


class Lived(NamedTuple):
    """The outcome of the updates of all rooms."""

    updates: int
    finals: int
    #: Number of partials that newer updates have overtaken.
    dropped: int
    #: Number of tokens of all translations.
    tokens: int
    #: Seconds from the beginning until the last update was translated.
    seconds: float
    #: Seconds from the arrival of each update until it was translated.
    latencies_s: Quantiles


def live(
    rooms: Rooms[State, Made],
    arrivals: Iterable[Update],
    clock: Clock,
    tokens: Callable[[Done[State, Made]], int],
    go_on: Callable[[], None] = lambda: None,
) -> Lived:
    """Submit all ``arrivals`` in the order of their times, and translate until nothing waits.

    Args:
        rooms: Get the updates.
        arrivals: The updates to translate.
        clock: Says when updates arrive and are done.
        tokens: Returns the length of a translation; it may raise to end the run.
        go_on: Called before each pass; it may raise to end the run.
    """
    updates = finals = length = 0
    latencies_s = Quantiles()
    coming = iter(arrivals)
    following = next(coming, None)
    while following is not None or not rooms.is_idle:
        go_on()
        if rooms.is_idle and following is not None:
            clock.wait_until(following.arrival_s)
        while following is not None and following.arrival_s <= clock.now():
            rooms.hand_in(following)
            following = next(coming, None)
        for done in rooms.step():
            updates += 1
            finals += done.update.is_final
            length += tokens(done)
            latencies_s.add(clock.now() - done.update.arrival_s)
    return Lived(updates, finals, rooms.overtaken, length, clock.now(), latencies_s)
