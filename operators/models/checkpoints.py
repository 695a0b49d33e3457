"""Which states of a recurrent memory are kept, because it cannot be cut where a request differs.

A recurrent layer holds a summary of all tokens so far instead of one entry per token, so no token can be
removed. Instead a copy of the state is kept, and the tokens after it are evaluated again. An update of
self-speculative decoding goes back twice: to where the source differs from the last one, and to where the
model rejects the draft.
"""

from collections.abc import Sequence
from typing import NamedTuple

#: A state is kept in the middle of a pass if it saves evaluating at least this many tokens again. The pass is
#: then split, which costs as much as one more token (if computing is the limit) to eight (if memory is;
#: docs/decoding.md). Tokens before the source's frontier are saved twice, when the draft is rejected and at
#: the next update; tokens before the draft once, and only if the draft is rejected.
FRONTIER_STEP = 4
DRAFT_STEP = 8


class Place(NamedTuple):
    """Where to keep a state."""

    position: int
    #: Whether it is useless for the next update, which has another prompt.
    in_output: bool


class Checkpoints:
    """The kept states of one sequence: at most one in each of ``slots`` slots, all after the head."""

    def __init__(self, slots: Sequence[int], head: int) -> None:
        """Slots are named by any numbers; the state after the first ``head`` tokens is kept elsewhere."""
        self._free = list(slots)
        self._head = head
        self._count = len(slots)
        self._positions: dict[int, int] = {}
        # The kept state that lies in the output, if any; it is useless for the next update.
        self._in_output: int | None = None
        # Where the logits of the last request began: a request that differs earlier has another prompt.
        self._judged = 0

    @property
    def positions(self) -> list[int]:
        """How many tokens each kept state covers, ascending."""
        return sorted(self._positions.values())

    def drop_after(self, length: int) -> list[int]:
        """Drop the states of more than ``length`` tokens; returns the slots that are now free."""
        gone = [slot for slot, position in self._positions.items() if position > length]
        for slot in gone:
            self._give_up(slot)
        return gone

    def best(self, length: int) -> tuple[int, int] | None:
        """The slot that covers most of the first ``length`` tokens, and how many; None without one."""
        usable = [(at, slot) for slot, at in self._positions.items() if at <= length]
        if not usable:
            return None
        at, slot = max(usable)
        return slot, at

    def places(self, begin: int, wanted: int, first: int, end: int) -> list[Place]:
        """Where to keep states in a pass over the tokens from ``begin`` to ``end``, ascending.

        ``wanted`` is where the request differs from the last one. The next update is expected to differ no
        earlier, because sources grow. Tokens from ``first`` on are judged by logits and may be rejected. A
        single token at the end is the model's own choice: nothing goes back to before it.
        """
        places = []
        if self._is_worth(begin, wanted, FRONTIER_STEP) and end - wanted > 1:
            places.append(Place(wanted, self._is_output(wanted)))
            begin = wanted
        if self._is_worth(begin, first, DRAFT_STEP) and end - first > 1:
            places.append(Place(first, in_output=True))
        # The only slot is for the prompt.
        return [place for place in places if self._count > place.in_output]

    def keep(self, place: Place) -> tuple[int, bool]:
        """The slot for a state, and whether it held another one before."""
        slot = self._slot(in_output=place.in_output)
        was_used = slot in self._positions
        self._give_up(slot)
        self._free.remove(slot)
        self._positions[slot] = place.position
        if place.in_output:
            self._in_output = slot
        return slot, was_used

    def judged(self, first: int) -> None:
        """Record that the logits of a request began at position ``first``."""
        self._judged = first

    def _is_worth(self, begin: int, position: int, step: int) -> bool:
        if position <= self._head or position in self._positions.values():
            return False
        # At its start a pass need not be split.
        return position == begin or position - begin >= step

    def _is_output(self, position: int) -> bool:
        return position >= self._judged > 0

    def _slot(self, *, in_output: bool) -> int:
        if in_output and self._in_output is not None:
            return self._in_output
        if self._free:
            return self._free[-1]
        # The one with the fewest tokens back to the state before it: losing it costs least.
        below = self._head
        gaps = []
        for position, slot in sorted((at, slot) for slot, at in self._positions.items()):
            gaps.append((position - below, slot))
            below = position
        return min(gaps)[1]

    def _give_up(self, slot: int) -> None:
        if self._positions.pop(slot, None) is not None:
            self._free.append(slot)
        if slot == self._in_output:
            self._in_output = None
