"""Rooms on several models: each room belongs to the rooms of one model, and one model computes at a time.

A pass uses as many processors as make it faster. Two passes at the same time would share them, and both
results would be late; one after the other, the first result comes in half the time.
"""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from operators.serving.rooms import Done, Rooms, Update

State = TypeVar("State")
Made = TypeVar("Made")


class RoutedRooms(Generic[State, Made]):
    """The rooms of all models, which take turns pass by pass; for one thread."""

    def __init__(self, models: Sequence[Rooms[State, Made]], of: Callable[[str], Rooms[State, Made]]) -> None:
        """Take over the rooms of all ``models``: nothing else may use them.

        Args:
            models: The rooms of each model.
            of: Gives the one of ``models`` that a room belongs to, which stays the same.
        """
        # The first is the next to make a pass.
        self._turns = list(models)
        self._of = of

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits and nothing is in progress."""
        return all(rooms.is_idle for rooms in self._turns)

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
        for rooms in self._turns:
            rooms.abandon(error)

    def step(self) -> list[Done[State, Made]]:
        """Make the next pass of one model; return the updates that are finished by then."""
        rooms = next((one for one in self._turns if not one.is_idle), None)
        if rooms is None:
            return []
        self._turns.remove(rooms)
        self._turns.append(rooms)
        return rooms.step()
