"""A recorded room that is replayed in many: in real time on a model, or on a simulated machine.

A simulation has the same scheduler, on a clock driven by a table of pass costs. Each update requests the
passes that it took when it was recorded. Its text does not matter: an update's size comes from the recording,
even if it has overtaken others in the simulation.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from heapq import merge
from itertools import count
from time import perf_counter, sleep
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from operators.decoding.decoder import Decode
from operators.decoding.forward import Decoded, Forward, Logits, Method
from operators.decoding.pass_cost import PassCosts
from operators.events import Effort
from operators.metrics.quantiles import Quantiles
from operators.serving.passes import Answered, Asked, fill_of
from operators.serving.rooms import Done, Rooms, Update, Waiting, Working
from operators.serving.scheduler import Scheduler

# The fractional part of the golden ratio: it spreads any number of rooms evenly.
_SPREAD = 0.6180339887498949


def phase(room: int) -> float:
    """Where in the recording a room begins: a fraction, 0 for the first room."""
    return room * _SPREAD % 1.0


class Heard(NamedTuple):
    """One recorded hypothesis."""

    segment: int
    text: str
    is_final: bool
    arrival_s: float


class Recording:
    """The hypotheses of one room, which repeat from the beginning when they end."""

    def __init__(self, heard: Sequence[Heard]) -> None:
        """Times must ascend, and segments must be numbered 0, 1, 2, …; at least one hypothesis is needed."""
        self._heard = heard
        first_s, last_s = heard[0].arrival_s, heard[-1].arrival_s
        # The gap from the last one to the first one of the next turn is the average gap.
        self.length_s = last_s - first_s + max((last_s - first_s) / len(heard), 0.1)
        self._segments = heard[-1].segment + 1

    def __len__(self) -> int:
        return len(self._heard)

    def arrivals(self, rooms: int, seconds: float) -> Iterator[Update]:
        """The updates of all rooms within a number of seconds, in the order of arrival.

        Each room starts at a different place of the recording, with the next segment there.
        """
        return merge(
            *(self._room(number, seconds) for number in range(rooms)), key=lambda update: update.arrival_s
        )

    def _room(self, number: int, seconds: float) -> Iterator[Update]:
        name, first_s = f"room {number + 1}", self._heard[0].arrival_s
        phase_s = self.length_s * phase(number)
        begun: set[int] = set()
        for turn in count():
            for place, (segment, text, is_final, arrival_s) in enumerate(self._heard):
                at_s = arrival_s - first_s + turn * self.length_s - phase_s
                if at_s >= seconds:
                    return
                own = segment + turn * self._segments
                # Segments that began before the room did are left out completely.
                is_first = place == 0 or self._heard[place - 1].segment != segment
                if at_s >= 0.0 and (is_first or own in begun):
                    begun = {own}
                    yield Update(name, own, text, is_final, at_s, place)


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


class Recorded(NamedTuple):
    """The passes of an update when it was recorded."""

    #: Number of tokens of its first pass, and of the cached tokens before them.
    first: int
    reused: int
    #: Number of tokens of each further pass.
    others: tuple[int, ...]
    #: Number of tokens of the translation.
    output: int

    @classmethod
    def of(cls, effort: Effort, output: int) -> "Recorded":
        """Derive the passes from an effort: those after the first share the remaining tokens."""
        others = max(0, effort.passes - 1)
        # Passes after the first seldom have more than one token.
        left = min(max(0, effort.evaluated - 1), effort.proposed + others)
        each, more = divmod(left, others) if others else (0, 0)
        sizes = tuple(max(1, each + (place < more)) for place in range(others))
        first = max(1, effort.evaluated - sum(sizes)) if effort.passes else 0
        return cls(first, effort.prompt_reused, sizes, output)

    def after(self, overtaken: Sequence["Recorded"]) -> "Recorded":
        """Add what the overtaken updates would have decoded, limited by the length of this output."""
        others = [size for one in overtaken for size in one.others]
        room = max(0, self.output - sum(self.others))
        return self._replace(others=(*self.others, *others[:room]))


class SimulatedClock:
    """A clock that advances only when told to."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def now(self) -> float:
        """The current time."""
        return self.now_s

    def wait_until(self, at_s: float) -> None:
        """Set the clock to ``at_s``."""
        self.now_s = max(self.now_s, at_s)


@cache
def _no_logits(rows: int) -> Logits:
    """Rows for a vocabulary of no tokens."""
    return np.empty((rows, 0), np.float32)


class TimedPasses:
    """`Passes` that compute nothing but take the time that a model would.

    A request needs the tokens that its session does not hold; if the session was lost, all except the head.
    """

    def __init__(self, costs: PassCosts, clock: SimulatedClock, sessions: int, head: int) -> None:
        self._costs = costs
        self._clock = clock
        #: Maximum number of sessions.
        self.most = sessions
        self._head = head
        self._open: OrderedDict[str, None] = OrderedDict()

    def size(self, asked: Asked) -> int:
        """Number of tokens that a pass has to evaluate to answer this."""
        length, reused = len(asked.request.tokens), asked.request.logits_from
        return max(1, length - (reused if asked.key in self._open else min(self._head, reused)))

    def answer(self, asked: Sequence[Asked]) -> Iterator[Answered]:
        """Advance the clock by the time of a pass."""
        sizes = [self.size(one) for one in asked]
        self._clock.now_s += self._costs.of(sum(sizes)) / 1000
        for one, size in zip(asked, sizes, strict=True):
            self._use(one.key)
            length, logits_from = len(one.request.tokens), one.request.logits_from
            yield Answered(_no_logits(length - logits_from), length - size)

    def succeed(self) -> None:
        """Do nothing."""

    def fail(self, key: str) -> None:
        """Drop what ``key`` holds."""
        self.release(key)

    def release(self, key: str) -> None:
        """Free what ``key`` holds."""
        self._open.pop(key, None)

    def _use(self, key: str) -> None:
        if key not in self._open and len(self._open) >= self.most:
            self._open.popitem(last=False)
        self._open[key] = None
        self._open.move_to_end(key)


class Machine(NamedTuple):
    """The simulated machine: the costs of its passes, and the number of sessions that fit into its memory."""

    costs: PassCosts
    sessions: int


def simulate(
    machine: Machine,
    recording: Recording,
    recorded: Sequence[Recorded],
    rooms: int,
    seconds: float,
    *,
    most: int | None = None,
    go_on: Callable[[], None] = lambda: None,
) -> tuple[Lived, Scheduler]:
    """Simulate a number of rooms that replay a recording; ``recorded`` holds the passes of each update.

    ``most`` is as in `Scheduler`, and ``go_on`` as in `live`.
    """
    clock = SimulatedClock()
    head = min((one.reused for one in recorded if one.first), default=0)
    passes = TimedPasses(machine.costs, clock, machine.sessions, head)
    fill = fill_of(machine.costs)
    scheduler = Scheduler(passes, fill=fill, costs=machine.costs, most=most, clock=clock.now)

    def work(waiting: Waiting, _state: None) -> Working[None, int]:
        update = waiting.update
        own = recorded[update.number].after([recorded[number] for number in waiting.overtaken])
        if own.first:
            yield Decode(update.key, _method(own), update.is_final)
        return None, own.output

    def release(update: Update, _state: None) -> None:
        scheduler.release(update.key)

    def tokens(done: Done[None, int]) -> int:
        return done.made

    served = Rooms(scheduler, work, release)
    return live(served, recording.arrivals(rooms, seconds), clock, tokens, go_on), scheduler


def _method(recorded: Recorded) -> Method:
    """Request the recorded passes."""
    held = recorded.reused
    for size in (recorded.first, *recorded.others):
        yield Forward(range(held + size), held)
        held += size
    return Decoded(())
