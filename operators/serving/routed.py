"""Rooms on several models: each room belongs to the rooms of one model, and one model computes at a time.

A pass uses as many processors as make it faster. Two passes at the same time would share them, and both
results would be late; one after the other, the first result comes in half the time. So do two updates: the
model goes on whose update has waited longest, and models with finals before others.
"""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from operators.serving.rooms import Done, Rooms, Update

# Passes of other models after which one that waits counts as if it had a final: some updates take so many.
_MAX_LEFT_OUT = 32

State = TypeVar("State")
Made = TypeVar("Made")


class RoutedRooms(Generic[State, Made]):
    """The rooms of all models, which take turns by who waits longest; for one thread."""

    def __init__(self, models: Sequence[Rooms[State, Made]], of: Callable[[str], Rooms[State, Made]]) -> None:
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

    def restore(self, name: str, segment: int, state: State) -> None:
        """Set the state of a segment as it was when a run was interrupted, before its next update."""
        self._of(name).restore(name, segment, state)

    def forget(self, name: str, segment: int) -> None:
        """Free a segment that has no final, while none of its updates waits; unknown ones are ignored."""
        self._of(name).forget(name, segment)

    def abandon(self, error: Exception) -> None:
        """Drop all rooms, with what waits in them, because of a defect."""
        for rooms in self._models:
            rooms.abandon(error)

    def step(self) -> list[Done[State, Made]]:
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
