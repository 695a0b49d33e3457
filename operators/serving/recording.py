"""What a room says, as it was recorded, and any number of rooms that say it at other times."""

from collections.abc import Iterator, Sequence
from heapq import merge
from itertools import count
from typing import NamedTuple

from operators.serving.rooms import Update

#: The golden ratio's fraction: however many rooms there are, they are spread evenly over the recording.
_SPREAD = 0.6180339887498949


class Heard(NamedTuple):
    """One recorded hypothesis."""

    segment: int
    text: str
    is_final: bool
    arrival_s: float


class Recording:
    """The hypotheses of one room, which begins again when they are over."""

    def __init__(self, heard: Sequence[Heard]) -> None:
        """Their times must ascend, and segments be numbered 0, 1, 2, …; there is one at least."""
        self._heard = heard
        first_s, last_s = heard[0].arrival_s, heard[-1].arrival_s
        # From the last one to the first of the next turn as long as between two others.
        self.length_s = last_s - first_s + max((last_s - first_s) / len(heard), 0.1)
        self._segments = heard[-1].segment + 1

    def __len__(self) -> int:
        return len(self._heard)

    def arrivals(self, rooms: int, seconds: float) -> Iterator[Update]:
        """What all rooms say within so many seconds, in the order of its coming.

        Each is at another place of the recording, and begins with the next segment there.
        """
        return merge(
            *(self._room(number, seconds) for number in range(rooms)), key=lambda update: update.arrival_s
        )

    def _room(self, number: int, seconds: float) -> Iterator[Update]:
        name, first_s = f"room {number + 1}", self._heard[0].arrival_s
        phase_s = self.length_s * (number * _SPREAD % 1.0)
        begun: set[int] = set()
        for turn in count():
            for place, (segment, text, is_final, arrival_s) in enumerate(self._heard):
                at_s = arrival_s - first_s + turn * self.length_s - phase_s
                if at_s >= seconds:
                    return
                own = segment + turn * self._segments
                # What began before the room did is left out to its end.
                is_first = place == 0 or self._heard[place - 1].segment != segment
                if at_s >= 0.0 and (is_first or own in begun):
                    begun = {own}
                    yield Update(name, own, text, is_final, at_s, place)
