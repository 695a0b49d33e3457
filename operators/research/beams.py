"""A draft model that drafts with a beam search of two.

One of the methods that SpecASR (Wei et al. 2025, figure 11) compares with.
"""

from collections.abc import Sequence
from math import log
from typing import NamedTuple

from operators.decoding.drafter import Drafting
from operators.decoding.drafts import Verified
from operators.decoding.forward import AskDraftModel, Task, TreeForward
from operators.decoding.tree import ROOT, GrowingTree
from operators.research.prediction import predicted
from operators.research.tree_draft import tree_draft

_BEAMS = 2


class _Beam(NamedTuple):
    """A sequence of drafted tokens: its log-probability, its last node, its tokens."""

    score: float
    node: int
    tokens: tuple[int, ...]


class TwoBeams:
    """Drafts the two sequences of ``length`` tokens that a beam search finds most probable."""

    def __init__(self, task: Task, length: int) -> None:
        self._task = task
        self._length = length

    def learn(self, verified: Verified) -> None:
        """Nothing is remembered."""

    def draft(self, output: Sequence[int]) -> Drafting:
        """Both sequences as a tree, with the more probable one as its trunk."""
        known = [*self._task.prompt, *output]
        searched = GrowingTree()
        beams = [_Beam(0.0, ROOT, ())]
        for _ in range(min(self._length, self._task.limit - len(output))):
            first = min(beam.node for beam in beams)
            rows = yield AskDraftModel(TreeForward(known, searched.tree, len(known) + first))
            longer: list[_Beam] = []
            for beam in beams:
                step = predicted(rows[beam.node - first]) if beam.node - first < len(rows) else None
                if step is not None:
                    longer += self._longer(beam, step.token, step.p)
                    longer += [] if step.second is None else self._longer(beam, step.second, step.p_second)
            if not longer:
                break
            best = sorted(longer, reverse=True)[:_BEAMS]
            beams = [beam._replace(node=searched.add(beam.node, beam.tokens[-1])) for beam in best]
        offered = GrowingTree()
        for beam in beams:
            node = ROOT
            for token in beam.tokens:
                node = offered.add(node, token)
        return tree_draft(offered.tree) if offered.size else None

    def _longer(self, beam: _Beam, token: int, p: float) -> list[_Beam]:
        """The beam with one more token; empty if that token is the end."""
        if token in self._task.stop:
            return []
        return [_Beam(beam.score + log(p), beam.node, (*beam.tokens, token))]
