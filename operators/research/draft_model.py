"""A smaller model proposes tokens (speculative decoding, Leviathan et al. 2023; SpecASR, Wei et al. 2025).

Its drafts are verified exactly: it saves passes and changes no output. The techniques are those of SpecASR,
section IV:

- Adaptive single-sequence prediction (IV-A): a prediction ends with its first uncertain token.
- Draft sequence recycling (IV-B): the rejected rest of a draft is kept as a branch. In one pass with tree
  attention, the draft model extends the end of the branch and regenerates a token at the divergence. New
  tokens are compared with the branch at the same and at adjacent places. At a match the branches merge, and
  the rest of the old one is drafted again without a step. So the branch grows while the draft model
  regenerates.
- Two-pass sparse-tree prediction (IV-C): the first pass predicts the whole trunk and marks its uncertain
  places. In the second pass, the second most probable token of each place starts a branch. One pass of the
  draft model extends all branches by one node, until they merge into the trunk or into another branch, and
  continue like it without further steps. The rejected part of a tree is recycled in the next one.
"""

from collections.abc import Generator, Sequence
from typing import NamedTuple

import msgspec

from operators.decoding.drafts import Drafting, Verified
from operators.decoding.forward import AskDraftModel, Forward, Logits, Origin, Request, Task, TreeForward
from operators.decoding.tree import MAX_NODES, ROOT, TokenTree
from operators.research.tree_draft import Step, TreeBuilder, TreeDraft, predicted


class Prediction(msgspec.Struct, frozen=True, kw_only=True):
    """How a draft model drafts (SpecASR, Wei et al. 2025, section IV). The defaults are the authors' own."""

    #: Maximum number of tokens of a path.
    length: int = 24
    #: A less probable token is uncertain. It ends a single sequence, but is included because its step is done
    #: and verifying it costs little. In a tree it begins a branch. At 0 no token is uncertain, as in plain
    #: speculative decoding.
    threshold: float = 0.4
    #: Whether the rejected rest of a draft is reused if a new draft matches it.
    recycles: bool = True
    #: Maximum number of branches of a tree; 0 predicts a single sequence.
    branches: int = 0
    #: Maximum number of nodes of a tree of either model; 0 if their sessions hold no branches.
    nodes: int = MAX_NODES


#: Shifts at which a token is searched in a branch: its own place first, then one later and one earlier.
_SHIFTS = (0, 1, -1)


class Rest(NamedTuple):
    """Tokens of a branch that may be reused."""

    #: Place of the first one in the output.
    place: int = 0
    steps: tuple[Step, ...] = ()
    #: Whether the draft model predicts the end of the output after them.
    ended: bool = False

    def after(self, place: int, token: int) -> "Rest | None":
        """The rest after ``token`` at ``place`` of a new output; None if the branch lacks it there."""
        for shift in _SHIFTS:
            number = place - self.place + shift
            if 0 <= number < len(self.steps) and self.steps[number].token == token:
                return Rest(place + 1, self.steps[number + 1 :], self.ended)
        return None


def rejected(verified: Verified, steps: tuple[Step, ...] | None) -> Rest:
    """The rest of a draft from its first rejected token on; ``steps`` are its nodes, if predicted.

    If there are several branches, the one drafted first counts. If a branch was accepted to its end, the rest
    is the part of the trunk at the places after it.
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
    rest = tuple(known[node] for node in nodes)
    return Rest(verified.begin + verified.accepted_length, rest, bool(rest) and rest[-1].ends)


class _Regeneration:
    """Two places in one pass of the draft model: the end of a branch, and the new tokens beside it (IV-B).

    Args:
        known: The tokens before both.
        rest: The branch.
        own: The model's own token, which follows ``known`` instead.
    """

    def __init__(self, known: Sequence[int], rest: Rest, own: int) -> None:
        self._known = known
        self._tree = TreeBuilder()
        for step in rest.steps:
            self._tree.add(self._tree.size - 1, step)
        self._ends = self._tree.size - 1, self._tree.add(ROOT, Step(own))

    @property
    def size(self) -> int:
        return self._tree.size

    @property
    def request(self) -> TreeForward:
        """Its answer has two rows, after the branch and after the new tokens."""
        return TreeForward(self._known, self._tree.tree, len(self._known) + self.size - 2)

    def grow(self, extension: Step, new: Step) -> None:
        branch, beside = self._ends
        self._ends = self._tree.add(branch, extension), self._tree.add(beside, new)


class _Line:
    """The trunk or a branch of a tree: ``nodes`` one after another, the first one at ``place``."""

    def __init__(self, place: int, nodes: list[int]) -> None:
        self.place = place
        self.nodes = nodes
        # The line into which it has merged, and the number of the shared node there.
        self._met: tuple[_Line, int] | None = None

    @property
    def end(self) -> int:
        """The place after its last node."""
        return self.place + len(self.nodes)

    @property
    def rest(self) -> list[int]:
        """The nodes of other lines with which it continues; empty if it has not merged."""
        return [] if self._met is None else self._met[0].after(self._met[1])

    def after(self, number: int) -> list[int]:
        return [*self.nodes[number + 1 :], *self.rest]

    def _follows(self, other: "_Line") -> bool:
        line: _Line | None = self
        while line is not None and line is not other:
            line = None if line._met is None else line._met[0]
        return line is other

    def meets(self, lines: Sequence["_Line"], steps: Sequence[Step]) -> bool:
        """Whether its last token is in another line, at the same or an adjacent place after its start."""
        token, place = steps[self.nodes[-1]].token, self.end - 1
        for line in lines:
            if line._follows(self):
                continue
            for shift in _SHIFTS:
                number = place + shift - line.place
                is_there = place + shift >= self.place and 0 <= number < len(line.nodes)
                if is_there and steps[line.nodes[number]].token == token:
                    self._met = line, number
                    return True
        return False


class ModelDrafts:
    """Drafts with the draft model after the divergence, and if there is no last output."""

    def __init__(self, task: Task, prediction: Prediction) -> None:
        self._task = task
        self._prediction = prediction
        self._rest = Rest()
        # The predictions behind the last draft's nodes.
        self._offered: tuple[Step, ...] = ()
        # Whether the draft model's session can hold branches, as far as known.
        self._holds_branches = True

    def learn(self, verified: Verified) -> None:
        if not self._prediction.recycles or verified.own is None:
            return
        is_own = verified.draft.origin is Origin.MODEL
        rest = rejected(verified, self._offered if is_own else None)
        if rest.steps:
            self._rest = rest

    def draft(self, output: Sequence[int]) -> Drafting:
        builder = TreeBuilder()
        yield from self._first_pass(output, builder)
        if builder.size and self._prediction.branches:
            yield from self._second_pass(output, builder)
        self._offered = tuple(builder.steps)
        return builder.draft

    def _room(self, output: Sequence[int]) -> int:
        return min(self._prediction.length, self._task.limit - len(output))

    def _first_pass(self, output: Sequence[int], trunk: TreeBuilder) -> Generator[Request, Logits, None]:
        """Grow the trunk, the greedy sequence, to its length, its end, or its first uncertain token."""
        begin, room = len(output), self._room(output)
        met = self._rest.after(begin - 1, output[-1]) if output else None
        beside = None if met is not None else self._regeneration(output)
        while trunk.size < room:
            if met is not None:
                rest, met = met, None
                steps = rest.steps[: room - trunk.size]
                if not all(self._append(trunk, step, Origin.RECYCLED) for step in steps):
                    return
                if rest.ended and len(steps) == len(rest.steps):
                    trunk.end(trunk.size - 1)
                    return
                continue
            new, beside = yield from self._step(output, trunk, beside)
            if new is None or new.token in self._task.stop:
                if new is not None:
                    trunk.end(trunk.size - 1)
                return
            if not self._append(trunk, new, Origin.MODEL):
                return
            met = self._rest.after(begin + trunk.size - 1, new.token)
            beside = beside if met is None else None

    def _append(self, trunk: TreeBuilder, step: Step, origin: Origin) -> bool:
        """Append ``step`` to the trunk; return whether more may follow."""
        trunk.add(trunk.size - 1, step, origin)
        return self._goes_on(step)

    def _goes_on(self, step: Step) -> bool:
        return self._prediction.branches > 0 or step.p >= self._prediction.threshold

    def _step(
        self, output: Sequence[int], trunk: TreeBuilder, beside: _Regeneration | None
    ) -> Generator[Request, Logits, tuple[Step | None, _Regeneration | None]]:
        """Predict the next token of the trunk, and in the same pass that of the branch ``beside`` it.

        Returns the former, and ``beside`` if the branch can still be extended.
        """
        if beside is not None:
            rows = yield AskDraftModel(beside.request)
            if len(rows) == 2:
                extension, new = predicted(rows[0]), predicted(rows[1])
                if extension is None or extension.token in self._task.stop:
                    self._rest = self._rest._replace(ended=extension is not None)
                    return new, None
                self._rest = self._rest._replace(steps=(*self._rest.steps, extension))
                if new is None or not self._may_extend(output, beside.size + 2):
                    return new, None
                beside.grow(extension, new)
                return new, beside
            self._holds_branches = False
        tokens = [*self._task.prompt, *output, *trunk.tree.tokens]
        rows = yield AskDraftModel(Forward(tokens, len(tokens) - 1))
        return predicted(rows[-1]) if len(rows) else None, None

    def _regeneration(self, output: Sequence[int]) -> _Regeneration | None:
        """The extensible branch from which ``output`` has just diverged; None if there is none."""
        rest = self._rest
        is_fresh = bool(rest.steps) and rest.place == len(output) - 1
        if not (is_fresh and self._holds_branches and self._may_extend(output, len(rest.steps) + 1)):
            return None
        return _Regeneration([*self._task.prompt, *output[:-1]], rest, output[-1])

    def _may_extend(self, output: Sequence[int], nodes: int) -> bool:
        """Whether the branch may be extended, in a tree with this number of nodes."""
        rest = self._rest
        # Directly after the rejected token it may be extended even if that token was uncertain.
        is_sure = len(rest.steps) == 1 or self._goes_on(rest.steps[-1])
        is_short = rest.place + len(rest.steps) < len(output) + self._room(output)
        return is_sure and is_short and not rest.ended and nodes + 2 <= self._prediction.nodes

    def _second_pass(self, output: Sequence[int], tree: TreeBuilder) -> Generator[Request, Logits, None]:
        """Branch from the trunk at its uncertain places, and grow the branches until they merge."""
        prediction, stop, room = self._prediction, self._task.stop, self._room(output)
        known = [*self._task.prompt, *output]
        trunk = _Line(0, list(range(tree.size)))
        uncertain = [
            (place, Step(step.second, step.p_second))
            for place, step in enumerate(tree.steps)
            if step.p < prediction.threshold and step.second is not None and step.second not in stop
        ][: min(prediction.branches, max(0, prediction.nodes - tree.size))]
        lines = [trunk, *(_Line(place, [tree.add(place - 1, step)]) for place, step in uncertain)]
        growing = lines[1:]
        while True:
            growing = [line for line in growing if not line.meets(lines, tree.steps)]
            # The continuations of merged branches have precedence over further predictions.
            following = sum(len(line.rest[: room - line.end]) for line in lines)
            left = max(0, prediction.nodes - tree.size - following)
            growing = [line for line in growing if line.end < room][:left]
            if not growing:
                break
            first = growing[0].nodes[-1]
            rows = yield AskDraftModel(TreeForward(known, tree.tree, len(known) + first))
            growing = [
                line
                for line in growing
                if line.nodes[-1] - first < len(rows) and self._grow(tree, line, rows[line.nodes[-1] - first])
            ]
        for line in lines[1:]:
            node = line.nodes[-1]
            for other in line.rest[: room - line.end]:
                if tree.size < prediction.nodes:
                    node = tree.add(node, tree.steps[other], Origin.RECYCLED)

    def _grow(self, tree: TreeBuilder, line: _Line, row: Logits) -> bool:
        """Append a branch's next token, which ``row`` predicts; False if there is none."""
        step = predicted(row)
        if step is None or step.token in self._task.stop:
            if step is not None:
                tree.end(line.nodes[-1])
            return False
        line.nodes.append(tree.add(line.nodes[-1], step))
        return True
