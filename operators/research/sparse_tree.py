"""The second pass of a two-pass sparse tree (SpecASR, Wei et al. 2025, section IV-C).

The first pass has predicted a trunk and marked the places where the draft model was unsure. At each of these
the second most probable token starts a branch; one pass of the draft model extends all branches by one node.
A branch that meets the trunk, at the same place or an adjacent one, continues like the trunk without further
steps.
"""

from collections.abc import Container, Generator, Sequence
from typing import NamedTuple

from operators.decoding.forward import AskDraftModel, Logits, Request, TreeForward
from operators.decoding.tree import GrowingTree, TokenTree
from operators.research.prediction import Prediction, Step, predicted
from operators.research.rejected import Rest


class Branching(NamedTuple):
    """A tree, and the prediction of each of its nodes."""

    tree: TokenTree
    steps: tuple[Step, ...]
    #: Nodes from here on repeat the trunk, and took no step.
    repeated: int


class _Tip(NamedTuple):
    """The last node of a growing branch, and its place after the known tokens."""

    node: int
    place: int


def branch(
    known: Sequence[int], trunk: Sequence[Step], prediction: Prediction, stop: Container[int], room: int
) -> Generator[Request, Logits, Branching]:
    """Branch from ``trunk``, which follows the tokens ``known``, where the model was unsure.

    No node is a ``stop`` token, and none is ``room`` places or more after the known tokens.
    """
    drawing = _Drawing(trunk, prediction, stop, room)
    tips = drawing.begin()
    for _ in range(prediction.reach - 1):
        tips = drawing.unmet(tips)
        if not tips:
            break
        first = tips[0].node
        request = TreeForward(known, drawing.tree, len(known) + first)
        rows = yield AskDraftModel(request)
        tips = drawing.grow([tip for tip in tips if tip.node - first < len(rows)], rows, first)
    drawing.unmet(tips)
    return drawing.merged()


class _Drawing:
    """A tree whose branches grow."""

    def __init__(
        self, trunk: Sequence[Step], prediction: Prediction, stop: Container[int], room: int
    ) -> None:
        self._trunk = tuple(trunk)
        self._prediction = prediction
        self._stop = stop
        self._room = room
        self._growing = GrowingTree(step.token for step in trunk)
        self._steps = list(trunk)
        # Nodes that have met the trunk, and what follows them there.
        self._met: list[tuple[_Tip, Rest]] = []

    @property
    def tree(self) -> TokenTree:
        """The trunk, and the branches so far."""
        return self._growing.tree

    def begin(self) -> list[_Tip]:
        """A branch at each of the first places where the model was unsure."""
        tips: list[_Tip] = []
        for place, step in enumerate(self._trunk):
            is_unsure = step.p < self._prediction.threshold and len(tips) < self._prediction.branches
            if is_unsure and step.second is not None and step.second not in self._stop:
                tips.append(self._add(place - 1, Step(step.second, step.p_second), place))
        return tips

    def unmet(self, tips: Sequence[_Tip]) -> list[_Tip]:
        """The tips that may grow; those that meet the trunk continue with it later."""
        growing = []
        for tip in tips:
            # A branch can meet only what comes after its own start.
            begin = self._begin_of(tip.node)
            behind = Rest(begin, self._trunk[begin:]).after(tip.place, self._steps[tip.node].token)
            if behind is not None:
                self._met.append((tip, behind))
            elif tip.place + 1 < self._room and self._growing.size < self._prediction.nodes:
                growing.append(tip)
        return growing

    def grow(self, tips: Sequence[_Tip], rows: Logits, first: int) -> list[_Tip]:
        """Add the model's next token to each tip where the model is sure of it.

        The first row is that of node ``first``.
        """
        grown = []
        for tip in tips:
            step = predicted(rows[tip.node - first])
            if step is not None and step.token not in self._stop and step.p >= self._prediction.threshold:
                grown.append(self._add(tip.node, step, tip.place + 1))
        return grown

    def merged(self) -> Branching:
        """The tree with what follows the meetings."""
        repeated = self._growing.size
        for tip, behind in self._met:
            for step in behind.steps:
                if tip.place + 1 >= self._room or self._growing.size >= self._prediction.nodes:
                    break
                tip = self._add(tip.node, step, tip.place + 1)
        return Branching(self.tree, tuple(self._steps), repeated)

    def _add(self, parent: int, step: Step, place: int) -> _Tip:
        node = self._growing.add(parent, step.token)
        if node == len(self._steps):
            self._steps.append(step)
        return _Tip(node, place)

    def _begin_of(self, node: int) -> int:
        """The place of the first node of a branch."""
        path = self.tree.path(node)
        return next(place for place, one in enumerate(path) if one >= len(self._trunk))
