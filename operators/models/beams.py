"""Continuations of a sequence next to each other in a cache of numbered sequences, for a beam search.

Each has a sequence of its own. They share the cells of what they have in common, so a continuation that
splits off from another one costs only its new token.
"""

from collections.abc import Collection, Sequence

import numpy as np

from operators.decoding.forward import Logits
from operators.decoding.session import Evaluation
from operators.models.store import Part, SharedStore
from operators.text import common_prefix


class Beams:
    """The continuations of one sequence, in sequences that belong to it: the `BeamCache` of a session."""

    def __init__(self, store: SharedStore, trunk: int, own: Sequence[int]) -> None:
        """``trunk`` is the sequence that they continue, and ``own`` are theirs, all empty."""
        self._store = store
        self._trunk = trunk
        self._own = tuple(own)
        #: Maximum number of continuations.
        self.most = len(self._own)
        # The sequence of each continuation, and the length of what they continue.
        self._held: dict[tuple[int, ...], int] = {}
        self._start = 0

    def unknown(self, paths: Sequence[tuple[int, ...]]) -> int:
        """Number of tokens of these continuations that it does not hold."""
        return sum(len(path) - _known(self._held, path) for path in paths)

    def evaluate(self, start: int, paths: Sequence[tuple[int, ...]]) -> Logits:
        """Hold these continuations of the trunk's first ``start`` tokens; the logits after each."""
        return np.concatenate(self._store.evaluate_parts(self.place(start, paths)))

    def place(self, start: int, paths: Sequence[tuple[int, ...]]) -> list[Part]:
        """What a pass must append, a part for each path; those that none of them continues are dropped."""
        parents = {path[:-1] for path in paths}
        for path in [one for one in self._held if one not in parents]:
            self._store.cut_sequence(self._held.pop(path), 0)
        before, self._start = self._held, start
        free = iter([one for one in self._own if one not in before.values()])
        self._held, continued, parts = {}, set[int](), list[Part]()
        for path in paths:
            source = before.get(path[:-1], self._trunk)
            known = _known(before, path)
            if source == self._trunk or source in continued:
                own = next(free)
                self._store.copy_sequence(source, own)
            else:
                own = source
            continued.add(source)
            self._held[path] = own
            parts.append(Part(own, Evaluation(path[known:], start + known, 1)))
        return parts

    def settle(self, tokens: Sequence[int]) -> int:
        """Append to the trunk what ``tokens`` have in common with the nearest continuation, and drop all."""
        grown = 0
        if self._held:
            wanted = tuple(tokens)
            best = max(self._held, key=lambda path: common_prefix(path, wanted))
            grown = common_prefix(best, wanted)
            if grown:
                self._store.cut_sequence(self._trunk, 0)
                self._store.copy_sequence(self._held[best], self._trunk)
                self._store.cut_sequence(self._trunk, self._start + grown)
        self.forget()
        return grown

    def forget(self) -> None:
        """Drop all continuations."""
        for sequence in self._held.values():
            self._store.cut_sequence(sequence, 0)
        self._held = {}


def _known(held: Collection[tuple[int, ...]], path: tuple[int, ...]) -> int:
    """How many of its tokens are held: all but the last, or none."""
    return len(path) - 1 if path[:-1] in held else 0
