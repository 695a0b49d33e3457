"""A smaller model proposes tokens (speculative decoding, Leviathan et al. 2023; SpecASR, Wei et al. 2025).

It predicts token by token while it is sure, reuses rejected tokens where it meets them, and where it is not
sure can try two tokens at once. Its drafts are verified exactly: it saves passes and changes no output.
"""

from collections.abc import Generator, Sequence
from typing import NamedTuple

from operators.decoding.drafter import Drafting
from operators.decoding.drafts import Draft, Verified
from operators.decoding.forward import AskDraftModel, Forward, Logits, Origin, Request, Task
from operators.decoding.prediction import Prediction, Step, predicted
from operators.decoding.rejected import Rest, rejected
from operators.decoding.sparse_tree import Branching, branch
from operators.decoding.tree import TokenTree


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
        """Keep the rejected rest, also if another drafter proposed it."""
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
        return Draft(drawn.tree, Origin.MODEL, origins=tuple(origins))

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
