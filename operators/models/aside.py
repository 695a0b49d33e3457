"""Tokens of a sequence that wait in another one until what stands before them has been evaluated.

llama.cpp appends to a sequence only at its end. So where the source grows, the kept tokens of the output move
into a spare sequence, the source is appended, and they come back behind it at new positions. Sequences share
cells, so nothing is copied; the keys are turned to their new positions with the next pass (RoPE; Su et al.
2021, section 3.2).
"""

from operators.models.store import ShiftingStore


class Aside:
    """The spare sequence of one session."""

    def __init__(self, store: ShiftingStore, number: int) -> None:
        self._store = store
        self._number = number
        self._held = (0, 0)

    def take(self, sequence: int, begin: int, end: int) -> None:
        """Hold what ``sequence`` holds from position ``begin`` up to ``end``; the caller cuts it there."""
        self.forget()
        self._store.copy_part(sequence, self._number, begin, end)
        self._held = begin, end

    def put_back(self, sequence: int, start: int) -> None:
        """Append it to ``sequence`` at position ``start``."""
        begin, end = self._held
        self._store.shift(self._number, begin, end, start - begin)
        self._store.copy_part(self._number, sequence, start, start + end - begin)
        self.forget()

    def forget(self) -> None:
        """Hold nothing."""
        if self._held != (0, 0):
            self._store.cut_sequence(self._number, 0)
            self._held = 0, 0
