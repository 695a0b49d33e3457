"""Simultaneous rooms: whose update is translated next, and which update is overtaken.

A room has only one update in progress at a time, because its drafts build on each other. Rooms that keep up
with live speech translate finals first, and of a segment's waiting partials only the newest; other rooms
translate every update in its order. A final is never dropped.
"""

import math
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from queue import SimpleQueue
from threading import Semaphore, Thread
from time import perf_counter
from typing import NamedTuple

from operators.decoding.decoder import Decode
from operators.decoding.translator import Output, SegmentState, Translates, Updating
from operators.serving.scheduler import FairQueue, Job, Scheduler
from operators.trouble import ModelTrouble

# Passes of other models after which one that waits counts as if it had a final: some updates take so many.
_MAX_LEFT_OUT = 32

#: Maximum number of updates that are handed in and not yet translated or overtaken. The caller of
#: another one has to wait, so a source that delivers faster than the model translates cannot fill the memory.
MAX_PENDING = 10_000


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
        return _key(self.room, self.segment)


class Waiting(NamedTuple):
    """An update that waits for its turn."""

    update: Update
    #: The numbers of the updates of its segment that it has overtaken since the last translation.
    overtaken: Sequence[int] = ()
    #: Since when its segment has waited, in seconds on the clock of the rooms.
    since_s: float = 0.0


class Done(NamedTuple):
    """An update that was translated."""

    update: Update
    #: The numbers of the updates of its segment that it has overtaken.
    overtaken: Sequence[int]
    #: The state of its segment after it.
    state: SegmentState
    output: Output
    #: Seconds from the update's start until it was translated, in passes that other rooms share.
    seconds: float


class _Room:
    """The waiting updates of one room, and the states of its open segments."""

    def __init__(self, *, keep_up: bool) -> None:
        self._keep_up = keep_up
        # The finals; without ``keep_up``, all updates.
        self._queue: deque[Waiting] = deque()
        # The newest partial of each segment, the numbers of those that it has overtaken, and since when the
        # segment has waited. Each hands the list on to the next, because there may be very many.
        self._partials: dict[int, tuple[Update, list[int], float]] = {}
        self.states: dict[int, SegmentState] = {}
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


class Rooms:
    """Any number of rooms on one model; for one thread."""

    def __init__(
        self,
        scheduler: Scheduler,
        translator: Translates,
        *,
        keep_up: bool = True,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        """Take over ``scheduler``: nothing else may use it.

        Args:
            scheduler: Runs the methods.
            translator: Translates updates; its decoder must be ``scheduler``.
            keep_up: Translate finals first and only the newest waiting partial of a segment, instead of each
                update in its order.
            clock: Seconds, by which updates wait.
        """
        self._clock = clock
        self._scheduler = scheduler
        self._translator = translator
        self._keep_up = keep_up
        self._rooms: dict[str, _Room] = {}
        self._queue: FairQueue[str] = FairQueue()
        self._working: dict[Job, tuple[Waiting, Updating, float]] = {}
        #: Number of partials that newer updates have overtaken.
        self.overtaken = 0

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits and nothing is in progress."""
        return not self._queue and not self._working

    @property
    def urgency(self) -> tuple[bool, float]:
        """What is less goes first: whether no final is there, and since when the first update has waited."""
        begun = [waiting for waiting, _, _ in self._working.values()]
        has_final = self._queue.has_final or any(one.update.is_final for one in begun)
        waiting_s = (room.since_s for room in self._rooms.values() if not room.is_busy)
        return not has_final, min((*waiting_s, *(one.since_s for one in begun)), default=math.inf)

    def hand_in(self, update: Update) -> None:
        """Queue an update."""
        room = self._room(update.room)
        self.overtaken += room.add(update, self._clock())
        if not room.is_busy:
            self._queue.join(update.room, is_final=room.next_is_final)

    def restore(self, name: str, segment: int, state: SegmentState) -> None:
        """Set the state of a segment as it was when a run was interrupted, before its next update."""
        self._room(name).states[segment] = state

    def forget(self, name: str, segment: int) -> None:
        """Free a segment that has no final, while none of its updates waits; unknown ones are ignored."""
        room = self._rooms.get(name)
        if room is not None and segment in room.states:
            self._translator.release(_key(name, segment), room.states.pop(segment))
            self._let_go(name)

    def abandon(self, error: Exception) -> None:
        """Drop all rooms, with what waits in them, because of a defect."""
        self._scheduler.abandon(error)
        self._rooms, self._queue, self._working = {}, FairQueue(), {}

    def step(self) -> list[Done]:
        """Make the next pass; return the updates that are finished by then."""
        done = list[Done]()
        while self._queue and self._scheduler.has_room(is_final=self._queue.has_final):
            name = self._queue.next()
            room = self._rooms[name]
            waiting = room.next()
            room.is_busy = True
            update, began_s = waiting.update, perf_counter()
            work = self._translator.updating(
                update.key, room.states.get(update.segment, SegmentState()), update.text,
                is_final=update.is_final, is_stable=update.is_stable,
            )  # fmt: skip
            done += self._go_on(waiting, work, began_s, partial(next, work))
        for job in self._scheduler.step():
            waiting, work, began_s = self._working.pop(job)
            done += self._go_on(waiting, work, began_s, partial(_answer, work, job))
        return done

    def _go_on(
        self, waiting: Waiting, work: Updating, began_s: float, step: Callable[[], Decode]
    ) -> list[Done]:
        try:
            self._working[self._scheduler.add(step())] = waiting, work, began_s
        except StopIteration as end:
            state, output = end.value
            self._end(waiting.update, state)
            return [Done(waiting.update, waiting.overtaken, state, output, perf_counter() - began_s)]
        return []

    def _end(self, update: Update, state: SegmentState) -> None:
        room = self._rooms[update.room]
        room.is_busy = False
        room.states[update.segment] = state
        if update.is_final:
            self._translator.release(update.key, room.states.pop(update.segment))
        if room.waits:
            self._queue.join(update.room, is_final=room.next_is_final)
        self._let_go(update.room)

    def _room(self, name: str) -> _Room:
        room = self._rooms.get(name)
        if room is None:
            room = self._rooms[name] = _Room(keep_up=self._keep_up)
        return room

    def _let_go(self, name: str) -> None:
        if self._rooms[name].is_empty:
            del self._rooms[name]


def _answer(work: Updating, job: Job) -> Decode:
    if isinstance(job.error, ModelTrouble):
        return work.throw(job.error)
    return work.send(job.result)


def _key(room: str, segment: int) -> str:
    return f"{room}/{segment:06d}"


class RoutedRooms:
    """The rooms of several models, each on one of them; for one thread.

    A pass uses as many processors as make it faster. Two passes at the same time would share them, and both
    results would be late. So one model computes at a time, and the one goes on whose update has waited
    longest, models with finals before others.
    """

    def __init__(self, models: Sequence[Rooms], of: Callable[[str], Rooms]) -> None:
        """Take over the rooms of all ``models``: nothing else may use them.

        Args:
            models: The rooms of each model.
            of: Gives the one of ``models`` that a room belongs to, which stays the same.
        """
        self._models = list(models)
        self._of = of
        # Passes of others that each model waited for since its last update ended.
        self._left_out = dict.fromkeys(range(len(models)), 0)

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits and nothing is in progress."""
        return all(rooms.is_idle for rooms in self._models)

    def hand_in(self, update: Update) -> None:
        """Queue an update."""
        self._of(update.room).hand_in(update)

    def restore(self, name: str, segment: int, state: SegmentState) -> None:
        """Set the state of a segment as it was when a run was interrupted, before its next update."""
        self._of(name).restore(name, segment, state)

    def forget(self, name: str, segment: int) -> None:
        """Free a segment that has no final, while none of its updates waits; unknown ones are ignored."""
        self._of(name).forget(name, segment)

    def abandon(self, error: Exception) -> None:
        """Drop all rooms, with what waits in them, because of a defect."""
        for rooms in self._models:
            rooms.abandon(error)

    def step(self) -> list[Done]:
        """Make the next pass of one model; return the updates that are finished by then."""
        waiting = [number for number, rooms in enumerate(self._models) if not rooms.is_idle]
        if not waiting:
            return []
        chosen = min(waiting, key=self._place)
        for number in waiting:
            self._left_out[number] += number != chosen
        if done := self._models[chosen].step():
            self._left_out[chosen] = 0
        return done

    def _place(self, number: int) -> tuple[bool, float]:
        no_final, since_s = self._models[number].urgency
        # Others may have finals without end.
        return no_final and self._left_out[number] < _MAX_LEFT_OUT, since_s


class RoomsThread:
    """Rooms on a thread of their own: workers hand in updates, go on, and get each result when it is there.

    No lock is held while the model computes, so the updates of all workers share passes.
    """

    def __init__(self, rooms: Rooms | RoutedRooms, most: int = MAX_PENDING) -> None:
        """Take over ``rooms``: nothing else may use them from now on. ``most`` is as `MAX_PENDING`."""
        self._rooms = rooms
        # What to do next, or None to end the thread.
        self._inbox: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._places = Semaphore(most)
        # Who gets the result of each update, by its room and number.
        self._deliver: dict[tuple[str, int], Callable[[Done | Exception], None]] = {}
        self._is_stopped = False
        # A daemon: the program waits for workers that wait for a result, but not for an idle model.
        self._thread = Thread(target=self._run, name="rooms", daemon=True)
        self._thread.start()

    def hand_in(self, update: Update, deliver: Callable[[Done | Exception], None]) -> None:
        """Queue an update, whose number must be unique among the pending ones of its room.

        ``deliver`` is called on the thread of the rooms, and must neither block nor raise. It gets the
        result, unless a newer update overtakes this one; or an error, which is always a defect.
        """
        self._places.acquire()
        self._inbox.put(partial(self._take, update, deliver))

    def restore(self, room: str, segment: int, state: SegmentState) -> None:
        """Set the state of a segment as it was when a run was interrupted, before its next update."""
        self._inbox.put(partial(self._rooms.restore, room, segment, state))

    def forget(self, room: str, segment: int) -> None:
        """Free a segment that has no final, while none of its updates is pending."""
        self._inbox.put(partial(self._rooms.forget, room, segment))

    def close(self) -> None:
        """End the thread when all submitted work is done; nothing may be submitted afterwards."""
        self._inbox.put(None)
        self._thread.join()

    def stop(self) -> None:
        """End the thread after the pass in progress; what is pending is dropped, and nobody is told."""
        self._is_stopped = True
        self.close()

    def _run(self) -> None:
        is_open = True
        while not self._is_stopped and (is_open or not self._rooms.is_idle):
            try:
                is_open = self._take_all(is_open=is_open)
                ended = self._rooms.step()
            except Exception as error:  # noqa: BLE001 - a defect; every waiting caller gets it
                self._abandon(error)
            else:
                for done in ended:
                    self._end(done)

    def _take_all(self, *, is_open: bool) -> bool:
        """Take everything that has come by now into the next pass, and when idle, wait for more.

        Returns whether more may come.
        """
        while not self._inbox.empty() or (is_open and self._rooms.is_idle):
            do = self._inbox.get()
            if do is None:
                is_open = False
            else:
                do()
        return is_open

    def _take(self, update: Update, deliver: Callable[[Done | Exception], None]) -> None:
        self._deliver[update.room, update.number] = deliver
        self._rooms.hand_in(update)

    def _end(self, done: Done) -> None:
        deliver = self._deliver.pop((done.update.room, done.update.number))
        for number in done.overtaken:
            del self._deliver[done.update.room, number]
        self._places.release(1 + len(done.overtaken))
        deliver(done)

    def _abandon(self, error: Exception) -> None:
        self._rooms.abandon(error)
        waiting, self._deliver = self._deliver, {}
        if waiting:
            self._places.release(len(waiting))
        for deliver in waiting.values():
            deliver(error)
