"""Simultaneous rooms: whose update is translated next, and which update is overtaken.

A room has only one update in progress at a time, because its drafts build on each other. Of a segment's
waiting partials, only the newest is kept, however long the wait; a final is never dropped.
"""

from collections import deque
from collections.abc import Callable, Generator
from functools import partial
from typing import Generic, NamedTuple, TypeVar

from operators.decoding.decoder import Decode
from operators.decoding.drive import Cost
from operators.decoding.forward import Decoded
from operators.serving.admission import Admission
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
    #: When it arrived, in seconds; and its number in its source.
    arrival_s: float = 0.0
    number: int = 0

    @property
    def key(self) -> str:
        """The segment's key."""
        return f"{self.room}/{self.segment:06d}"


class Waiting(NamedTuple):
    """An update, and the updates of its segment that it has overtaken since the last translation."""

    update: Update
    overtaken: tuple[Update, ...] = ()


class Done(NamedTuple, Generic[Made]):
    """An update that was translated."""

    update: Update
    overtaken: int
    made: Made


#: The work on an update: a generator that requests methods to run, as `Updating` does, and returns the state
#: of its segment and the result.
Working = Generator[Decode, tuple[Decoded, Cost], tuple[State, Made]]


class _Room(Generic[State]):
    """The waiting updates of one room, and the states of its open segments."""

    def __init__(self) -> None:
        self.finals: deque[Waiting] = deque()
        self.partials: dict[int, Waiting] = {}
        self.states: dict[int, State] = {}
        self.is_busy = self.is_leaving = False

    @property
    def waits(self) -> bool:
        return bool(self.finals or self.partials)

    def add(self, update: Update) -> bool:
        """Add an update; return whether it has overtaken another one."""
        before = (
            self.partials.pop(update.segment, None) if update.is_final else self.partials.get(update.segment)
        )
        waiting = Waiting(update, () if before is None else (*before.overtaken, before.update))
        if update.is_final:
            self.partials.pop(update.segment, None)
            self.finals.append(waiting)
        else:
            # It takes the place of the one that it overtakes, because the segment has waited since then.
            self.partials[update.segment] = waiting
        return before is not None

    def next(self) -> Waiting:
        """The first waiting final, else the partial that has waited longest."""
        if self.finals:
            return self.finals.popleft()
        return self.partials.pop(next(iter(self.partials)))


class Rooms(Generic[State, Made]):
    """Any number of rooms on one scheduler; for one thread."""

    def __init__(
        self,
        scheduler: Scheduler,
        work: Callable[[Waiting, State | None], Working[State, Made]],
        release: Callable[[Update, State], None],
        most: int,
    ) -> None:
        """Admit up to ``most`` rooms.

        Args:
            scheduler: Runs the methods; nothing else may use it.
            work: Translates an update, given the state of its segment; the first update has no state.
            release: Called with the last state of a segment that has ended.
            most: Maximum number of rooms.
        """
        self._scheduler = scheduler
        self._work = work
        self._release = release
        self._admission = Admission(most)
        self._rooms: dict[str, _Room[State]] = {}
        self._line: Line[str] = Line()
        self._working: dict[Job, tuple[Waiting, Working[State, Made]]] = {}
        #: Number of partials that newer updates have overtaken.
        self.overtaken = 0

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits and nothing is in progress."""
        return not self._line and not self._working

    def hand_in(self, update: Update) -> None:
        """Queue an update. Raises `TooManyRoomsError` if there is no place for its room."""
        self._admission.admit(update.room)
        room = self._rooms.setdefault(update.room, _Room())
        room.is_leaving = False
        self.overtaken += room.add(update)
        if not room.is_busy:
            self._line.join(update.room, is_final=update.is_final)

    def leave(self, name: str) -> None:
        """Free a room's place once its waiting updates are translated."""
        if name in self._rooms:
            self._rooms[name].is_leaving = True
            self._let_go(name)

    def step(self) -> list[Done[Made]]:
        """Make the next pass; return the updates that are finished by then."""
        done = list[Done[Made]]()
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
    ) -> list[Done[Made]]:
        try:
            self._working[self._scheduler.add(step())] = waiting, work
        except StopIteration as end:
            state, made = end.value
            self._end(waiting.update, state)
            return [Done(waiting.update, len(waiting.overtaken), made)]
        return []

    def _end(self, update: Update, state: State) -> None:
        room = self._rooms[update.room]
        room.is_busy = False
        room.states[update.segment] = state
        if update.is_final:
            self._release(update, room.states.pop(update.segment))
        if room.waits:
            self._line.join(update.room, is_final=bool(room.finals))
        self._let_go(update.room)

    def _let_go(self, name: str) -> None:
        room = self._rooms[name]
        if not room.is_leaving or room.is_busy or room.waits:
            return
        for segment, state in room.states.items():
            self._release(Update(name, segment, "", is_final=True), state)
        del self._rooms[name]
        self._admission.leave(name)


def _answer(work: Working[State, Made], job: Job) -> Decode:
    if isinstance(job.error, ModelTrouble):
        return work.throw(job.error)
    return work.send(job.result)
