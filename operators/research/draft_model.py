"""A smaller model proposes tokens (speculative decoding, Leviathan et al. 2023; SpecASR, Wei et al. 2025).

Its drafts are verified exactly: it saves passes and changes no output. The techniques are those of SpecASR,
section IV:

- A prediction ends where the draft model is not sure (adaptive single-sequence prediction, IV-A).
- The rejected rest of a draft is kept as a branch. New tokens are compared with it at the same and at
  adjacent places; where one matches, the branches merge, and the rest of the old one is drafted again without
  a step of the draft model (draft recycling, IV-B).
- At places of the predicted trunk where the draft model was unsure, its second most probable token starts a
  branch. One pass of the draft model extends all branches by one node; a branch that meets the trunk
  continues like it without further steps (two-pass sparse tree, IV-C).

A beam search of two is one of the methods that the authors compare with (figure 11).
"""

from collections.abc import Container, Generator, Sequence
from math import log
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from operators.decoding.drafts import Draft, Drafting, Verified
from operators.decoding.forward import (
    AskDraftModel,
    Forward,
    Logits,
    Origin,
    Request,
    Task,
    TreeForward,
    best_tokens,
)
from operators.decoding.tree import MAX_NODES, ROOT, TokenTree


class TreeDraft(Draft, frozen=True):
    """The nodes of a tree; without branches, a usual draft."""

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
        """If there are more nodes than rows, only the first nodes are judged."""
        judged = self._only(range(min(len(self.tokens), len(rows) - 1)))
        if judged.tree.is_chain:
            return Draft.verified(judged, begin, rows)
        choices = best_tokens(rows)
        return Verified(begin, judged, judged._walk(rows, choices), choices, rows)

    def _only(self, nodes: Sequence[int]) -> "TreeDraft":
        """The draft restricted to ``nodes``, which must contain the parents of all its members."""
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
        """From each node, go to the child that is the model's choice, else to the first that is accepted."""
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


class Prediction(msgspec.Struct, frozen=True, kw_only=True):
    """How a draft model drafts (SpecASR, Wei et al. 2025, section IV). The defaults are the authors' own."""

    #: Maximum number of tokens drafted at a time.
    length: int = 24
    #: A prediction ends with the first less probable token, which is included because its step is done and
    #: verifying it costs little. At 0 a prediction always has its full length, as in plain speculative
    #: decoding.
    threshold: float = 0.4
    #: Whether the rejected rest of a draft is reused where a new one meets it.
    recycles: bool = True
    #: Number of improbable tokens at which the second most probable one is tried too. The prediction ends
    #: with the next improbable one. 0 is a single sequence.
    branches: int = 0
    #: A branch that has not met the trunk after this many tokens ends.
    reach: int = 3
    #: Maximum number of nodes in a tree.
    nodes: int = MAX_NODES


class Step(NamedTuple):
    token: int
    #: Its probability: SpecASR's normalised logit.
    p: float = 1.0
    #: The second most probable token; None if it cannot be trusted.
    second: int | None = None
    p_second: float = 0.0


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


#: Where a token is searched for: at its own place first, then one later and one earlier in the branch.
_SHIFTS = (0, 1, -1)


class Rest(NamedTuple):
    """Tokens of a branch that may be reused."""

    #: Place of the first one in the output.
    place: int = 0
    steps: tuple[Step, ...] = ()
    #: Whether the model would not continue after them: it was unsure there, or predicted the end.
    is_whole: bool = False

    def after(self, place: int, token: int) -> "Rest | None":
        """What follows ``token`` at a new output's ``place``; None if the branch does not have it there."""
        for shift in _SHIFTS:
            number = place - self.place + shift
            if 0 <= number < len(self.steps) and self.steps[number].token == token:
                return Rest(place + 1, self.steps[number + 1 :], self.is_whole)
        return None


def rejected(verified: Verified, steps: tuple[Step, ...] | None, *, is_whole: bool) -> Rest:
    """The rest of a draft from its first rejected token on; ``steps`` are its nodes, if predicted.

    Of several branches the one drafted first counts. If a branch was accepted to its end, the rest is what
    the trunk has at the places after it.
    """
    draft = verified.draft
    tree = draft.tree if isinstance(draft, TreeDraft) else TokenTree.chain(draft.tokens)
    nodes: list[int] = []
    node = verified.path[-1] if verified.path else ROOT
    while children := tree.children(node):
        node = children[0]
        nodes.append(node)
    nodes = nodes or list(range(verified.accepted_length, tree.trunk))
    known = steps or tuple(Step(token) for token in tree.tokens)
    return Rest(verified.begin + verified.accepted_length, tuple(known[node] for node in nodes), is_whole)


class _TreeBuilder:
    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._parents: list[int] = []
        self._origins: list[Origin] = []

    def add(self, parent: int, step: Step, origin: Origin = Origin.MODEL) -> int:
        """Let ``step`` follow ``parent``; returns its number, which may be that of an existing node."""
        node = self.tree.child(parent, step.token)
        if node is None:
            node = self.size
            self.steps.append(step)
            self._parents.append(parent)
            self._origins.append(origin)
        return node

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
        if not self._prediction.recycles or verified.own is None:
            return
        is_own = verified.draft.origin is Origin.MODEL
        steps = self._offered if is_own else None
        rest = rejected(verified, steps, is_whole=is_own and self._is_whole)
        if rest.steps:
            self._rest = rest

    def draft(self, output: Sequence[int]) -> Drafting:
        builder = _TreeBuilder()
        self._is_whole = yield from self._predict(output, builder)
        if builder.size and self._prediction.branches:
            yield from self._branch(output, builder)
        self._offered = tuple(builder.steps)
        return builder.draft

    def _predict(self, output: Sequence[int], builder: _TreeBuilder) -> Generator[Request, Logits, bool]:
        """Grow the trunk, the greedy sequence; returns whether it ended for another reason than length."""
        begin, room = len(output), min(self._prediction.length, self._task.limit - len(output))
        met = self._rest.after(begin - 1, output[-1]) if output else None
        while builder.size < room:
            if met is not None and met.steps:
                for step in met.steps[: room - builder.size]:
                    builder.add(builder.size - 1, step, Origin.RECYCLED)
                if met.is_whole:
                    return True
                met = None
                continue
            tokens = [*self._task.prompt, *output, *builder.tree.tokens]
            rows = yield AskDraftModel(Forward(tokens, len(tokens) - 1))
            new = predicted(rows[-1]) if len(rows) else None
            if new is None or new.token in self._task.stop:
                return True
            builder.add(builder.size - 1, new)
            # A tree may have some places where the model is unsure.
            unsure = sum(step.p < self._prediction.threshold for step in builder.steps)
            if new.p < self._prediction.threshold and unsure > self._prediction.branches:
                return True
            met = self._rest.after(begin + builder.size - 1, new.token)
        return False

    def _branch(self, output: Sequence[int], builder: _TreeBuilder) -> Generator[Request, Logits, None]:
        """Branch from the trunk where the model was unsure.

        A branch goes on while the model is sure of it. Where it meets the trunk it continues like that.
        """
        prediction, stop, room = self._prediction, self._task.stop, self._task.limit - len(output)
        known = [*self._task.prompt, *output]
        trunk = tuple(builder.steps)
        unsure = [
            (place, Step(step.second, step.p_second))
            for place, step in enumerate(trunk)
            if step.p < prediction.threshold and step.second is not None and step.second not in stop
        ]
        tips = [builder.add(place - 1, step) for place, step in unsure[: prediction.branches]]
        met: list[tuple[int, Rest]] = []
        for grown in range(1, prediction.reach + 1):
            behind = {tip: _meeting(builder, trunk, tip) for tip in tips}
            met += [(tip, rest) for tip, rest in behind.items() if rest is not None]
            tips = [
                tip
                for tip, rest in behind.items()
                if rest is None and len(builder.tree.path(tip)) < room and builder.size < prediction.nodes
            ]
            if not tips or grown == prediction.reach:
                break
            first = tips[0]
            rows = yield AskDraftModel(TreeForward(known, builder.tree, len(known) + first))
            steps = [(tip, predicted(rows[tip - first])) for tip in tips if tip - first < len(rows)]
            tips = [
                builder.add(tip, step)
                for tip, step in steps
                if step is not None and step.token not in stop and step.p >= prediction.threshold
            ]
        for tip, rest in met:
            node, left = tip, room - len(builder.tree.path(tip))
            for step in rest.steps[: max(0, left)]:
                if builder.size < prediction.nodes:
                    node = builder.add(node, step, Origin.RECYCLED)


def _meeting(builder: _TreeBuilder, trunk: Sequence[Step], tip: int) -> Rest | None:
    """What follows in the trunk where the branch that ends with ``tip`` meets it; None if it does not."""
    path = builder.tree.path(tip)
    # A branch can meet only what comes after its own start.
    begin = next(place for place, node in enumerate(path) if node >= len(trunk))
    return Rest(begin, tuple(trunk[begin:])).after(len(path) - 1, builder.steps[tip].token)


_BEAMS = 2


class _Beam(NamedTuple):
    #: Its log-probability.
    score: float
    #: Its last node in the tree of all that was searched.
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
        known = [*self._task.prompt, *output]
        searched = _TreeBuilder()
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
