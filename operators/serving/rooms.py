"""Simultaneous rooms: whose update is translated next, and which update is overtaken.

A room has only one update in progress at a time, because its drafts build on each other. Rooms that keep up
with live speech translate finals first, and of a segment's waiting partials only the newest; other rooms
translate every update in its order. A final is never dropped.
"""

import math
from collections import deque
from collections.abc import Callable, Generator, Sequence
from functools import partial
from time import perf_counter
from typing import Generic, NamedTuple, TypeVar

from operators.decoding.decoder import Decode
from operators.decoding.drive import Cost
from operators.decoding.forward import Decoded
from operators.serving.job import Job
from operators.serving.line import Line
from operators.serving.scheduler import Scheduler
from operators.trouble import ModelTrouble

State = TypeVar("State")
Made = TypeVar("Made")


class Update(NamedTuple):
    """One hypothesis of a segment in one of the rooms."""

    room: str
    segment: int
    text: str
    is_final: bool
    #: The number that the caller gave it.
    number: int = 0
    #: Whether none of its words will be revised.
    is_stable: bool = False

    @property
    def key(self) -> str:
        """The segment's key."""
        return f"{self.room}/{self.segment:06d}"


class Waiting(NamedTuple):
    """An update that waits for its turn."""

    update: Update
    #: The numbers of the updates of its segment that it has overtaken since the last translation.
    overtaken: Sequence[int] = ()
    #: Since when its segment has waited, in seconds on the clock of the rooms.
    since_s: float = 0.0


class Done(NamedTuple, Generic[State, Made]):
    """An update that was translated."""

    update: Update
    #: The numbers of the updates of its segment that it has overtaken.
    overtaken: Sequence[int]
    #: The state of its segment after it.
    state: State
    made: Made


#: The work on an update: a generator that requests methods to run, as `Updating` does, and returns the state
#: of its segment and the result.
Working = Generator[Decode, tuple[Decoded, Cost], tuple[State, Made]]


class _Room(Generic[State]):
    """The waiting updates of one room, and the states of its open segments."""

    def __init__(self, *, keep_up: bool) -> None:
        self._keep_up = keep_up
        # The finals; without ``keep_up``, all updates.
        self._queue: deque[Waiting] = deque()
        # The newest partial of each segment, the numbers of those that it has overtaken, and since when the
        # segment has waited. Each hands the list on to the next, because there may be very many.
        self._partials: dict[int, tuple[Update, list[int], float]] = {}
        self.states: dict[int, State] = {}
        self.is_busy = False

    @property
    def waits(self) -> bool:
        return bool(self._queue or self._partials)

    @property
    def next_is_final(self) -> bool:
        """Whether the update that `next` returns is a final."""
        return bool(self._queue) and self._queue[0].update.is_final

    @property
    def is_empty(self) -> bool:
        """Whether nothing has to be remembered."""
        return not (self.is_busy or self.waits or self.states)

    def add(self, update: Update, now_s: float) -> bool:
        """Add an update; return whether it has overtaken another one."""
        if not self._keep_up:
            self._queue.append(Waiting(update, (), now_s))
            return False
        before = self._partials.get(update.segment)
        overtaken, since_s = list[int](), now_s
        if before is not None:
            _, overtaken, since_s = before
            overtaken.append(before[0].number)
        if update.is_final:
            self._partials.pop(update.segment, None)
            self._queue.append(Waiting(update, overtaken, since_s))
        else:
            # It takes the place of the one that it overtakes, because the segment has waited since then.
            self._partials[update.segment] = update, overtaken, since_s
        return before is not None

    @property
    def since_s(self) -> float:
        """Since when the update has waited that `next` returns; infinite if none waits."""
        if self._queue:
            return self._queue[0].since_s
        return next(iter(self._partials.values()))[2] if self._partials else math.inf

    def next(self) -> Waiting:
        """The first in the queue, else the partial that has waited longest."""
        if self._queue:
            return self._queue.popleft()
        return Waiting(*self._partials.pop(next(iter(self._partials))))


class Rooms(Generic[State, Made]):
    """Any number of rooms on one scheduler; for one thread."""

    def __init__(
        self,
        scheduler: Scheduler,
        work: Callable[[Waiting, State | None], Working[State, Made]],
        release: Callable[[Update, State], None],
        *,
        keep_up: bool = True,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        """Take over ``scheduler``: nothing else may use it.

        Args:
            scheduler: Runs the methods.
            work: Translates an update, given the state of its segment; the first update has no state.
            release: Called with the last state of a segment that has ended, and the last update of it.
            keep_up: Translate finals first and only the newest waiting partial of a segment, instead of each
                update in its order.
            clock: Seconds, by which updates wait.
        """
        self._clock = clock
        self._scheduler = scheduler
        self._work = work
        self._release = release
        self._keep_up = keep_up
        self._rooms: dict[str, _Room[State]] = {}
        self._line: Line[str] = Line()
        self._working: dict[Job, tuple[Waiting, Working[State, Made]]] = {}
        #: Number of partials that newer updates have overtaken.
        self.overtaken = 0

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits and nothing is in progress."""
        return not self._line and not self._working

    @property
    def urgency(self) -> tuple[bool, float]:
        """What is less goes first: whether no final is there, and since when the first update has waited."""
        begun = [waiting for waiting, _ in self._working.values()]
        has_final = self._line.has_final or any(one.update.is_final for one in begun)
        waiting_s = (room.since_s for room in self._rooms.values() if not room.is_busy)
        return not has_final, min((*waiting_s, *(one.since_s for one in begun)), default=math.inf)

    def hand_in(self, update: Update) -> None:
        """Queue an update."""
        room = self._room(update.room)
        self.overtaken += room.add(update, self._clock())
        if not room.is_busy:
            self._line.join(update.room, is_final=room.next_is_final)

    def restore(self, name: str, segment: int, state: State) -> None:
        """Set the state of a segment as it was when a run was interrupted, before its next update."""
        self._room(name).states[segment] = state

    def forget(self, name: str, segment: int) -> None:
        """Free a segment that has no final, while none of its updates waits; unknown ones are ignored."""
        room = self._rooms.get(name)
        if room is not None and segment in room.states:
            self._release(Update(name, segment, "", is_final=True), room.states.pop(segment))
            self._let_go(name)

    def abandon(self, error: Exception) -> None:
        """Drop all rooms, with what waits in them, because of a defect."""
        self._scheduler.abandon(error)
        self._rooms, self._line, self._working = {}, Line(), {}

    def step(self) -> list[Done[State, Made]]:
        """Make the next pass; return the updates that are finished by then."""
        done = list[Done[State, Made]]()
        while self._line and self._scheduler.has_room(is_final=self._line.has_final):
            name = self._line.next()
            room = self._rooms[name]
            waiting = room.next()
            room.is_busy = True
            work = self._work(waiting, room.states.get(waiting.update.segment))
            done += self._go_on(waiting, work, partial(next, work))
        for job in self._scheduler.step():
            waiting, work = self._working.pop(job)
            done += self._go_on(waiting, work, partial(_answer, work, job))
        return done

    def _go_on(
        self, waiting: Waiting, work: Working[State, Made], step: Callable[[], Decode]
    ) -> list[Done[State, Made]]:
        try:
            self._working[self._scheduler.add(step())] = waiting, work
        except StopIteration as end:
            state, made = end.value
            self._end(waiting.update, state)
            return [Done(waiting.update, waiting.overtaken, state, made)]
        return []

    def _end(self, update: Update, state: State) -> None:
        room = self._rooms[update.room]
        room.is_busy = False
        room.states[update.segment] = state
        if update.is_final:
            self._release(update, room.states.pop(update.segment))
        if room.waits:
            self._line.join(update.room, is_final=room.next_is_final)
        self._let_go(update.room)

    def _room(self, name: str) -> _Room[State]:
        room = self._rooms.get(name)
        if room is None:
            room = self._rooms[name] = _Room(keep_up=self._keep_up)
        return room

    def _let_go(self, name: str) -> None:
        if self._rooms[name].is_empty:
            del self._rooms[name]


def _answer(work: Working[State, Made], job: Job) -> Decode:
    if isinstance(job.error, ModelTrouble):
        return work.throw(job.error)
    return work.send(job.result)
