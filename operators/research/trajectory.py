"""What a decoding with a draft model did, round by round, and its cost for any cost of the passes.

SpecASR (Wei et al. 2025, section V) is measured this way: trajectories of one pair of models, replayed at the
costs of another. A round is a draft and the pass that verifies it. The evaluation of the prompt is not
counted for either model. All methods meet the same models, unaffected by rounding that depends on the size of
a pass: what a model predicts after given tokens is remembered, so most passes cost nothing.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from operators.decoding.drive import drive
from operators.decoding.forward import (
    NO_ROWS,
    Decoded,
    Forward,
    Logits,
    Method,
    ModelRequest,
    Origin,
    Session,
    Task,
    TreeForward,
)
from operators.decoding.pass_cost import PassCosts
from operators.decoding.recorder import Observe, SessionCost, watched
from operators.decoding.tree import TokenTree


class Round(NamedTuple):
    """One draft, and the pass that verified it."""

    #: Tokens that each pass of the draft model evaluated.
    steps: tuple[int, ...]
    #: Tokens drafted, in all branches; and evaluated by the pass, including the known one before them.
    drafted: int
    evaluated: int
    #: Accepted draft tokens, and those of them that took a step of their own.
    accepted: int
    stepped: int


class Trajectory(NamedTuple):
    """One text, decoded in one way."""

    method: str
    #: Tokens of the output.
    tokens: int
    rounds: tuple[Round, ...]


class Replayed(NamedTuple):
    """The cost of trajectories, in the unit of the passes' costs."""

    draft: float
    target: float

    @property
    def total(self) -> float:
        """The cost of both models."""
        return self.draft + self.target


def replay(trajectories: Sequence[Trajectory], draft: PassCosts, target: PassCosts) -> Replayed:
    """The total cost of all trajectories' passes, by the tokens that each evaluates."""
    rounds = [one for trajectory in trajectories for one in trajectory.rounds]
    return Replayed(
        sum(draft.of(step) for one in rounds for step in one.steps),
        sum(target.of(one.evaluated) for one in rounds),
    )


def autoregressive(trajectories: Sequence[Trajectory], target: PassCosts) -> float:
    """The cost of the same texts with the main model alone: a pass for each token, one for the end."""
    return sum(trajectory.tokens + 1 for trajectory in trajectories) * target.of(1)


class _Pass(NamedTuple):
    """An observed pass: the tokens that it evaluated after the prompt, and its request."""

    is_draft: bool
    evaluated: int
    #: Tokens of the output before the draft, and drafted tokens.
    known: int
    drafted: int


def record(
    method: Method, task: Task, session: Session, draft: Session, draft_prompt: Sequence[int] | None = None
) -> tuple[Decoded, tuple[Round, ...]]:
    """Decode with ``method``, made for ``task``, and return its rounds.

    The sessions may be those of any pair of models. A second one with another vocabulary has a
    ``draft_prompt`` of its own; drafted and accepted tokens are then the first one's, and steps the second
    one's.
    """
    passes: list[_Pass] = []
    decoded, _ = drive(
        method,
        watched(session, _watcher(task.prompt, passes, is_draft=False)),
        watched(draft, _watcher(draft_prompt or task.prompt, passes, is_draft=True)),
    )
    rounds, steps = list[Round](), list[int]()
    verifying = [one for one in passes if not one.is_draft]
    ends = [*(one.known - 1 for one in verifying[1:]), len(decoded.tokens)]
    for one in passes:
        if one.is_draft:
            steps.append(one.evaluated)
            continue
        end = ends[len(rounds)]
        # At its length limit an output ends with the model's own token, and no pass follows.
        accepted = [origin for origin in decoded.origins[one.known : end] if origin is not Origin.OWN]
        stepped = sum(origin is Origin.MODEL for origin in accepted)
        rounds.append(Round(tuple(steps), one.drafted, one.evaluated, len(accepted), stepped))
        steps = []
    return decoded, tuple(rounds)


def _watcher(known_prompt: Sequence[int], passes: list[_Pass], *, is_draft: bool) -> Observe:
    prompt = len(known_prompt)

    def see(request: ModelRequest, logits: Logits, cost: SessionCost) -> None:
        end = request.logits_from + len(logits)
        known = request.logits_from + 1 - prompt
        # The prompt's last token is always evaluated.
        passes.append(_Pass(is_draft, min(cost.evaluated, end - prompt + 1), known, end - prompt - known))

    return see


#: The most probable tokens of a row that are remembered one by one.
_MAX_KEPT = 8


class Memory:
    """What one model predicts after each output for one prompt."""

    def __init__(self, session: Session, prompt: Sequence[int]) -> None:
        """``session`` answers what is not known yet; it need not support trees."""
        self._session = session
        self.prompt = list(prompt)
        self._rows: dict[tuple[int, ...], _Row] = {}

    def rows(self, outputs: Sequence[tuple[int, ...]]) -> Logits:
        """The row after each of ``outputs``."""
        for output in sorted(outputs, key=len, reverse=True):
            if output not in self._rows:
                self._ask(output)
        return np.stack([self._rows[output].dense() for output in outputs])

    def _ask(self, output: tuple[int, ...]) -> None:
        """Evaluate the outputs up to this one, starting with the first unknown one."""
        first = next(length for length in range(len(output) + 1) if output[:length] not in self._rows)
        rows = self._session.forward(Forward([*self.prompt, *output], len(self.prompt) - 1 + first))
        for number, row in enumerate(rows):
            self._rows.setdefault(output[: first + number], _Row(row))


class _Row:
    """A compact row of logits: the best tokens, and the total probability of all others."""

    def __init__(self, row: NDArray[np.float32]) -> None:
        self._size = len(row)
        kept = min(_MAX_KEPT, len(row))
        self._tokens = np.argpartition(row, -kept)[-kept:]
        logits = row - row.max()
        total = np.log(np.exp(logits).sum(dtype=np.float64))
        self._logits = (logits[self._tokens] - total).astype(np.float32)
        # The rest is distributed among the others, none of which is more probable than those that are kept.
        rest = max(0.0, 1.0 - float(np.exp(self._logits.astype(np.float64)).sum()))
        share = np.log(max(rest, 1e-12) / max(1, len(row) - kept))
        self._other = min(float(share), float(self._logits.min()) - 1e-3)

    def dense(self) -> NDArray[np.float32]:
        """The row again: log-probabilities, the best ones exact."""
        row = np.full(self._size, self._other, np.float32)
        row[self._tokens] = self._logits
        return row


class Remembered:
    """Answers requests from a `Memory`, like a session that starts with the prompt in its cache."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        # The outputs that the cache of such a session would hold.
        self._held: set[tuple[int, ...]] = set()
        self.reused = self.kept = 0

    def forward(self, request: Forward) -> Logits:
        """Answer one request."""
        return self._answer(request.tokens, TokenTree(), request.logits_from)

    def forward_tree(self, request: TreeForward) -> Logits:
        """Answer one request for a tree, in full."""
        return self._answer(request.tokens, request.tree, request.logits_from)

    def _answer(self, tokens: Sequence[int], tree: TokenTree, logits_from: int) -> Logits:
        begin = len(self._memory.prompt)
        if list(tokens[:begin]) != self._memory.prompt:
            raise ValueError("this session remembers what was said to another prompt")
        outputs = [tuple(tokens[begin:end]) for end in range(begin, len(tokens) + 1)]
        for node, parent in enumerate(tree.parents):
            before = outputs[len(tokens) - begin + 1 + parent]
            outputs.append((*before, tree.tokens[node]))
        # The first output is empty: the prompt alone, whose last token has position begin - 1.
        there = (number for number, one in enumerate(outputs[1:]) if one not in self._held)
        known = next(there, len(outputs) - 1)
        self.reused = min(begin + known, logits_from)
        self._held = set(outputs)
        wanted = outputs[logits_from - begin + 1 :]
        return self._memory.rows(wanted) if wanted else NO_ROWS
