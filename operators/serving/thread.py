"""A thread that owns rooms: workers hand in updates and go on, and get each result as soon as it is there.

No lock is held while the model computes, so the updates of all workers are translated in the same passes.
"""

from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from threading import Semaphore, Thread
from typing import Generic, Protocol, TypeVar

from operators.serving.rooms import Done, Update

State = TypeVar("State")
Made = TypeVar("Made")

#: Maximum number of updates that are handed in and not yet translated or overtaken. The caller of
#: another one has to wait, so a source that delivers faster than the model translates cannot fill the memory.
MAX_PENDING = 10_000


class ServesRooms(Protocol[State, Made]):
    """What translates the updates of rooms, pass by pass; the methods are those of `Rooms`."""

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits and nothing is in progress."""
        ...

    def hand_in(self, update: Update, /) -> None:
        """Queue an update."""
        ...

    def restore(self, name: str, segment: int, state: State, /) -> None:
        """Set the state of a segment as it was when a run was interrupted, before its next update."""
        ...

    def forget(self, name: str, segment: int, /) -> None:
        """Free a segment that has no final, while none of its updates waits; unknown ones are ignored."""
        ...

    def abandon(self, error: Exception, /) -> None:
        """Drop all rooms, with what waits in them, because of a defect."""
        ...

    def step(self) -> list[Done[State, Made]]:
        """Make the next pass; return the updates that are finished by then."""
        ...


class RoomsThread(Generic[State, Made]):
    """Rooms that any thread may use."""

    def __init__(self, rooms: ServesRooms[State, Made], most: int = MAX_PENDING) -> None:
        """Take over ``rooms``: nothing else may use them from now on. ``most`` is as `MAX_PENDING`."""
        self._rooms = rooms
        # What to do next, or None to end the thread.
        self._inbox: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._places = Semaphore(most)
        # Who gets the result of each update, by its room and number.
        self._deliver: dict[tuple[str, int], Callable[[Done[State, Made] | Exception], None]] = {}
        self._is_stopped = False
        # A daemon: the program waits for workers that wait for a result, but not for an idle model.
        self._thread = Thread(target=self._run, name="rooms", daemon=True)
        self._thread.start()

    def hand_in(self, update: Update, deliver: Callable[[Done[State, Made] | Exception], None]) -> None:
        """Queue an update, whose number must be unique among the pending ones of its room.

        ``deliver`` is called on the thread of the rooms, and must neither block nor raise. It gets the
        result, unless a newer update overtakes this one; or an error, which is always a defect.
        """
        self._places.acquire()
        self._inbox.put(partial(self._take, update, deliver))

    def restore(self, room: str, segment: int, state: State) -> None:
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

    def _take(self, update: Update, deliver: Callable[[Done[State, Made] | Exception], None]) -> None:
        self._deliver[update.room, update.number] = deliver
        self._rooms.hand_in(update)

    def _end(self, done: Done[State, Made]) -> None:
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
