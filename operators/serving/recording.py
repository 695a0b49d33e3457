"""A recorded room, and any number of simulated rooms that replay it with different offsets."""

from collections.abc import Iterator, Sequence
from heapq import merge
from itertools import count
from typing import NamedTuple

from operators.serving.rooms import Update

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
