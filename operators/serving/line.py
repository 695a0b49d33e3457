"""Who is next: finals first, then whoever has waited longest, and nobody waits for ever."""

from collections import deque
from collections.abc import Hashable
from typing import Generic, TypeVar

#: Finals that may go ahead in a row while somebody else waits. As many requests of finals may be served
#: ahead of one that a pass had no room for.
PATIENCE = 4

Item = TypeVar("Item", bound=Hashable)


class Line(Generic[Item]):
    """Those who wait, each of them once."""

    def __init__(self) -> None:
        self._finals: deque[Item] = deque()
        self._others: deque[Item] = deque()
        # Whether each of those who wait does so for a final. In a deque there may be more: those who moved.
        self._is_final: dict[Item, bool] = {}
        self._in_a_row = 0

    def __len__(self) -> int:
        return len(self._is_final)

    def __contains__(self, item: Item) -> bool:
        return item in self._is_final

    @property
    def has_final(self) -> bool:
        """Whether anybody waits for a final."""
        return self._waits(self._finals, is_final=True)

    def join(self, item: Item, *, is_final: bool) -> None:
        """Wait at the end; whoever waits already keeps the place, but moves up with a first final."""
        waits = self._is_final.get(item)
        if waits or waits == is_final:
            return
        self._is_final[item] = is_final
        (self._finals if is_final else self._others).append(item)

    def next(self) -> Item:
        """Whoever is next leaves the line. Raises `IndexError` where nobody waits."""
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
        """Whether anybody is in ``line``; those who moved are taken out of its beginning."""
        while line and self._is_final.get(line[0]) is not is_final:
            line.popleft()
        return bool(line)
