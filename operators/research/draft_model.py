"""A smaller model proposes tokens (speculative decoding, Leviathan et al. 2023; SpecASR, Wei et al. 2025).

It predicts token by token while it is sure, reuses rejected tokens where it meets them, and where it is not
sure can try two tokens at once. Its drafts are verified exactly: it saves passes and changes no output.

The second pass of a two-pass sparse tree (section IV-C) starts where the first one has predicted a trunk and
marked the places where the draft model was unsure. At each of these the second most probable token starts a
branch; one pass of the draft model extends all branches by one node. A branch that meets the trunk, at the
same place or an adjacent one, continues like the trunk without further steps.

A beam search of two is one of the methods that the authors compare with (figure 11).
"""

from collections.abc import Container, Generator, Sequence
from math import log
from typing import NamedTuple

from operators.decoding.drafts import Drafting, Verified
from operators.decoding.forward import AskDraftModel, Forward, Logits, Origin, Request, Task, TreeForward
from operators.decoding.tree import ROOT, GrowingTree, TokenTree
from operators.research.prediction import Prediction, Rest, Step, predicted, rejected, tree_draft


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


class _Trunk(NamedTuple):
    """A sequence as it was predicted."""

    steps: list[Step]
    #: The places of the tokens that were reused.
    recycled: list[int]
    #: Whether it ended for a reason other than its length.
    is_whole: bool


_Predicting = Generator[Request, Logits, _Trunk]


class ModelDrafts:
    """Drafts with the draft model after the divergence, and where there is no last output."""

    def __init__(self, task: Task, prediction: Prediction) -> None:
        self._task = task
        self._prediction = prediction
        self._rest = Rest()
        # The predictions behind the last draft's nodes, and whether nothing was to follow its trunk.
        self._offered: tuple[Step, ...] = ()
        self._is_whole = False

    def learn(self, verified: Verified) -> None:
        """Keep the rejected rest, whoever drafted it."""
        if not self._prediction.recycles or verified.own is None:
            return
        is_own = verified.draft.origin is Origin.MODEL
        steps = self._offered if is_own else None
        rest = rejected(verified, steps, is_whole=is_own and self._is_whole)
        if rest.steps:
            self._rest = rest

    def draft(self, output: Sequence[int]) -> Drafting:
        """A prediction after ``output``, with branches where it is unsure."""
        trunk = yield from self._predict(output)
        if not trunk.steps:
            return None
        known = [*self._task.prompt, *output]
        tree = TokenTree.chain(step.token for step in trunk.steps)
        drawn = Branching(tree, tuple(trunk.steps), tree.size)
        if self._prediction.branches:
            room = self._task.limit - len(output)
            drawn = yield from branch(known, trunk.steps, self._prediction, self._task.stop, room)
        self._offered, self._is_whole = drawn.steps, trunk.is_whole
        origins = [Origin.MODEL] * drawn.tree.size
        for node in (*trunk.recycled, *range(drawn.repeated, drawn.tree.size)):
            origins[node] = Origin.RECYCLED
        return tree_draft(drawn.tree, origins)

    def _predict(self, output: Sequence[int]) -> _Predicting:
        """The greedy sequence: the whole prediction, or the trunk of a tree."""
        begin, room = len(output), min(self._prediction.length, self._task.limit - len(output))
        steps: list[Step] = []
        recycled: list[int] = []
        met = self._rest.after(begin - 1, output[-1]) if output else None
        while len(steps) < room:
            if met is not None and met.steps:
                again = met.steps[: room - len(steps)]
                recycled += range(len(steps), len(steps) + len(again))
                steps += again
                if met.is_whole:
                    return _Trunk(steps, recycled, is_whole=True)
                met = None
                continue
            tokens = [*self._task.prompt, *output, *(step.token for step in steps)]
            rows = yield AskDraftModel(Forward(tokens, len(tokens) - 1))
            step = predicted(rows[-1]) if len(rows) else None
            if step is None or step.token in self._task.stop:
                return _Trunk(steps, recycled, is_whole=True)
            steps.append(step)
            if self._is_unsure(steps):
                return _Trunk(steps, recycled, is_whole=True)
            met = self._rest.after(begin + len(steps) - 1, step.token)
        return _Trunk(steps, recycled, is_whole=False)

    def _is_unsure(self, steps: Sequence[Step]) -> bool:
        """Whether to stop: a tree may have some places where the model is unsure."""
        unsure = sum(step.p < self._prediction.threshold for step in steps)
        return steps[-1].p < self._prediction.threshold and unsure > self._prediction.branches


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
