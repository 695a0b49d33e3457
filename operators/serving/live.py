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
    #: Seconds from the arrival of each translated update until its translation.
    latencies_s: Quantiles
    #: Seconds from the arrival of each update, overtaken ones too, until it or a newer one of its segment was
    #: translated: rooms that drop many updates look fast by ``latencies_s``, to nobody who waits for words.
    #: None if it is not known when overtaken updates arrived.
    delays_s: Quantiles | None = None


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
        arrivals: The updates to translate; those of a segment have numbers of their own.
        clock: Says when updates arrive and are done.
        tokens: Returns the length of a translation; it may raise to end the run.
        go_on: Called before each pass; it may raise to end the run.
    """
    updates = finals = length = 0
    latencies_s, delays_s = Quantiles(), Quantiles()
    arrived_s: dict[tuple[str, int], float] = {}
    coming = iter(arrivals)
    following = next(coming, None)
    while following is not None or not rooms.is_idle:
        go_on()
        if rooms.is_idle and following is not None:
            clock.wait_until(following.arrival_s)
        while following is not None and following.arrival_s <= clock.now():
            arrived_s[following.key, following.number] = following.arrival_s
            rooms.hand_in(following)
            following = next(coming, None)
        for done in rooms.step():
            updates += 1
            finals += done.update.is_final
            length += tokens(done)
            latencies_s.add(clock.now() - done.update.arrival_s)
            for number in (*done.overtaken, done.update.number):
                delays_s.add(clock.now() - arrived_s.pop((done.update.key, number)))
    return Lived(updates, finals, rooms.overtaken, length, clock.now(), latencies_s, delays_s)
