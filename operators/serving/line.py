"""The queue of waiting jobs: finals first, then the longest wait, without starvation."""

from collections import deque
from collections.abc import Hashable
from typing import Generic, TypeVar

#: Maximum number of consecutive finals served while others wait. It also limits how many requests of finals
#: may be served ahead of one that did not fit into a pass.
PATIENCE = 4

Item = TypeVar("Item", bound=Hashable)


class Line(Generic[Item]):
    """The waiting items, each of them once."""

    def __init__(self) -> None:
        self._finals: deque[Item] = deque()
        self._others: deque[Item] = deque()
        # For each waiting item, whether it waits for a final. The deques may also hold items that moved.
        self._is_final: dict[Item, bool] = {}
        self._in_a_row = 0

    def __len__(self) -> int:
        return len(self._is_final)

    def __contains__(self, item: Item) -> bool:
        return item in self._is_final

    @property
    def has_final(self) -> bool:
        """Whether any item waits for a final."""
        return self._waits(self._finals, is_final=True)

    def join(self, item: Item, *, is_final: bool) -> None:
        """Join the end of the queue; a waiting item keeps its place, but moves up with its first final."""
        waits = self._is_final.get(item)
        if waits or waits == is_final:
            return
        self._is_final[item] = is_final
        (self._finals if is_final else self._others).append(item)

    def next(self) -> Item:
        """Remove and return the next item. Raises `IndexError` if none waits."""
        if not self._is_final:
            raise IndexError("nobody waits")
        is_final = self.has_final
        if self._waits(self._others, is_final=False) and is_final:
            is_final = self._in_a_row < PATIENCE
            self._in_a_row = self._in_a_row + 1 if is_final else 0
        else:
            self._in_a_row = 0
        item = (self._finals if is_final else self._others).popleft()
        del self._is_final[item]
        return item

    def _waits(self, line: deque[Item], *, is_final: bool) -> bool:
        """Whether any item waits in ``line``; items that have moved are removed from its front."""
        while line and self._is_final.get(line[0]) is not is_final:
            line.popleft()
        return bool(line)
