"""Drafts that are trees: built from a draft model's predictions, and verified in one pass.

Each node attends only to its own path (tree attention; SpecInfer, Miao et al. 2024). A beam search of width
two is here too: its tree is one of the baselines of SpecASR (Wei et al. 2025, figure 11).
"""

from collections.abc import Container, Sequence
from math import log
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from operators.decoding.drafts import Draft, Drafting, Verified
from operators.decoding.forward import (
    AskDraftModel,
    Logits,
    Origin,
    Request,
    Task,
    TreeForward,
    best_tokens,
)
from operators.decoding.tree import ROOT, TokenTree


class TreeDraft(Draft, frozen=True):
    """The nodes of a tree; without branches, an ordinary draft."""

    parents: tuple[int, ...] = ()
    #: The source of each token, if the sources differ.
    origins: tuple[Origin, ...] = ()

    @property
    def tree(self) -> TokenTree:
        return TokenTree(self.tokens, self.parents)

    @override
    def origin_of(self, node: int) -> Origin:
        return self.origins[node] if self.origins else self.origin

    @override
    def within(self, room: int, stop: Container[int]) -> "TreeDraft":
        nodes: list[int] = []
        there = {ROOT}
        for node, depth in enumerate(self.tree.depths):
            if self.parents[node] in there and depth < room and self.tokens[node] not in stop:
                nodes.append(node)
                there.add(node)
        return self._only(nodes)

    @override
    def request(self, task: Task, output: Sequence[int]) -> Request:
        if self.tree.is_chain:
            return Draft.request(self, task, output)
        tokens = [*task.prompt, *output]
        return TreeForward(tokens, self.tree, len(tokens) - 1, len(task.prompt), task.kept)

    @override
    def verified(self, begin: int, rows: Logits) -> Verified:
        """If there are more nodes than rows, only the first nodes are verified."""
        evaluated = self._only(range(min(len(self.tokens), len(rows) - 1)))
        if evaluated.tree.is_chain:
            return Draft.verified(evaluated, begin, rows)
        choices = best_tokens(rows)
        return Verified(begin, evaluated, evaluated._walk(rows, choices), choices, rows)

    def _only(self, nodes: Sequence[int]) -> "TreeDraft":
        """The draft restricted to ``nodes``, which must contain the parents of all its nodes."""
        if len(nodes) == len(self.tokens):
            return self
        numbers = {ROOT: ROOT} | {node: number for number, node in enumerate(nodes)}
        return msgspec.structs.replace(
            self,
            tokens=tuple(self.tokens[node] for node in nodes),
            parents=tuple(numbers[self.parents[node]] for node in nodes),
            origins=tuple(self.origins[node] for node in nodes) if self.origins else (),
        )

    def _walk(self, rows: Logits, choices: Sequence[int]) -> list[int]:
        """From each node, go to the child that is the model's choice, or else to the first accepted one."""
        path: list[int] = []
        node, tree = ROOT, self.tree
        while True:
            best, row = choices[node + 1], rows[node + 1]
            following = tree.child(node, best)
            if following is None:
                accepted = (
                    one for one in tree.children(node) if self.acceptance.accepts(row, best, tree.tokens[one])
                )
                following = next(accepted, None)
            if following is None:
                return path
            path.append(following)
            node = following


class Step(NamedTuple):
    token: int
    #: Its probability: SpecASR's normalised logit.
    p: float = 1.0
    #: The second most probable token; None if it cannot be trusted.
    second: int | None = None
    p_second: float = 0.0
    #: Whether the draft model predicts the end of the output after it.
    ends: bool = False


def predicted(row: NDArray[np.float32]) -> Step | None:
    """The most probable token of a row, which is overwritten; None if the logits are not finite."""
    best = int(row.argmax())
    top = float(row[best])
    if not np.isfinite(top):
        return None
    total = float(np.exp(row - top).sum())
    row[best] = -np.inf
    second = int(row.argmax())
    p_second = float(np.exp(row[second] - top)) / total
    return Step(best, 1.0 / total, second if p_second > 0.0 else None, p_second)


class TreeBuilder:
    """A tree of predictions that grows; the trunk comes first."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._parents: list[int] = []
        self._origins: list[Origin] = []

    def add(self, parent: int, step: Step, origin: Origin = Origin.MODEL) -> int:
        """Append ``step`` to ``parent``; returns the number of its node, which may exist already."""
        node = self.tree.child(parent, step.token)
        if node is None:
            node = self.size
            self.steps.append(step)
            self._parents.append(parent)
            self._origins.append(origin)
        return node

    def end(self, node: int) -> None:
        """Note that the draft model predicts the end of the output after ``node``, if not the root."""
        if node != ROOT:
            self.steps[node] = self.steps[node]._replace(ends=True)

    @property
    def size(self) -> int:
        return len(self.steps)

    @property
    def tree(self) -> TokenTree:
        return TokenTree(tuple(step.token for step in self.steps), tuple(self._parents))

    @property
    def draft(self) -> TreeDraft | None:
        tree = self.tree
        if not tree.size:
            return None
        return TreeDraft(tree.tokens, Origin.MODEL, parents=tree.parents, origins=tuple(self._origins))


_BEAMS = 2


class _Beam(NamedTuple):
    #: Its log-probability.
    score: float
    #: Its last node in the search tree.
    node: int
    tokens: tuple[int, ...]


class TwoBeams:
    """Drafts the two sequences of ``length`` tokens that a beam search finds most probable."""

    def __init__(self, task: Task, length: int) -> None:
        self._task = task
        self._length = length

    def learn(self, verified: Verified) -> None:
        """Does nothing."""

    def draft(self, output: Sequence[int]) -> Drafting:
        known = [*self._task.prompt, *output]
        searched = TreeBuilder()
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
            beams = [beam._replace(node=searched.add(beam.node, Step(beam.tokens[-1]))) for beam in best]
        tree = TokenTree.merged(beam.tokens for beam in beams)
        return TreeDraft(tree.tokens, Origin.MODEL, parents=tree.parents) if tree.size else None

    def _longer(self, beam: _Beam, token: int, p: float) -> list[_Beam]:
        """The beam with one more token; empty if that token is the end."""
        if token in self._task.stop:
            return []
        return [_Beam(beam.score + log(p), beam.node, (*beam.tokens, token))]
