"""Records decoding with a draft model round by round, and computes its cost for any costs of the passes.

SpecASR (Wei et al. 2025, section V) is measured this way: trajectories of one pair of models, replayed at the
costs of another. A round is a draft and the pass that verifies it. The evaluation of the prompt is not
counted for either model. Predictions after given tokens are cached. So all methods get the same predictions,
independent of rounding that depends on the size of a pass, and most passes cost nothing.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from operators.decoding.adjustment import outputs
from operators.decoding.drive import drive
from operators.decoding.forward import (
    NO_ROWS,
    AskDraftModel,
    DecodingResult,
    Forward,
    Logits,
    Method,
    Origin,
    Request,
    Session,
    Task,
    TreeForward,
    observed,
)
from operators.decoding.pass_cost import PassCosts


class Round(NamedTuple):
    #: Tokens that each pass of the draft model evaluated.
    steps: tuple[int, ...]
    #: Tokens drafted, in all branches; and evaluated by the pass, including the known one before them.
    drafted: int
    evaluated: int
    #: Accepted draft tokens, and those of them that needed a step of the draft model.
    accepted: int
    stepped: int


class Trajectory(NamedTuple):
    method: str
    #: Tokens of the output.
    tokens: int
    rounds: tuple[Round, ...]


class ReplayCost(NamedTuple):
    """The cost of trajectories, in the unit of the passes' costs."""

    draft: float
    target: float


def replay(trajectories: Sequence[Trajectory], draft: PassCosts, target: PassCosts) -> ReplayCost:
    """The total cost of all trajectories' passes, by the tokens that each evaluates."""
    rounds = [one for trajectory in trajectories for one in trajectory.rounds]
    return ReplayCost(
        sum(draft.of(step) for one in rounds for step in one.steps),
        sum(target.of(one.evaluated) for one in rounds),
    )


def autoregressive(trajectories: Sequence[Trajectory], target: PassCosts) -> float:
    """The cost of the same texts with the main model alone: a pass for each token, one for the end."""
    return sum(trajectory.tokens + 1 for trajectory in trajectories) * target.of(1)


def ranks(output: Sequence[int], draft: "Memory") -> list[int]:
    """The rank of each token of ``output`` in the draft model's prediction, from 1 (figure 13b)."""
    rows = draft.rows([tuple(output[:place]) for place in range(len(output))]) if output else NO_ROWS
    # A token that only the main model has gets the last rank.
    return [
        1 + int((row > row[token]).sum()) if token < len(row) else len(row) + 1
        for row, token in zip(rows, output, strict=True)
    ]


class _Pass(NamedTuple):
    """A pass of the main model: the number of known output tokens, and fields as in `Round`."""

    known: int
    drafted: int
    evaluated: int
    steps: tuple[int, ...]


def record(
    method: Method, task: Task, session: Session, draft: Session, draft_prompt: Sequence[int] | None = None
) -> tuple[DecodingResult, tuple[Round, ...]]:
    """Decode with ``method``, made for ``task``, and return its rounds.

    The sessions may be those of any pair of models. A draft model with another vocabulary has its own
    ``draft_prompt``; then drafted and accepted are counts of the main model's tokens, and steps are counts of
    the draft model's.
    """
    passes, steps = list[_Pass](), list[int]()
    begin, draft_begin = len(task.prompt), len(draft_prompt or task.prompt)

    def see(request: Request, logits: Logits) -> None:
        if isinstance(request, AskDraftModel) and len(logits):
            end = request.request.logits_from + len(logits)
            # The prompt's last token is always evaluated.
            steps.append(min(end - draft.reused, end - draft_begin + 1))
        elif not isinstance(request, AskDraftModel):
            known, end = request.logits_from + 1 - begin, request.logits_from + len(logits) - begin
            passes.append(_Pass(known, end - known, min(begin + end - session.reused, end + 1), tuple(steps)))
            steps.clear()

    decoded, _ = drive(observed(method, see), session, draft)
    # At its length limit an output ends with the model's own token, and no pass follows.
    ends = [*(one.known - 1 for one in passes[1:]), len(decoded.tokens)]
    rounds = []
    for one, end in zip(passes, ends, strict=True):
        accepted = [origin for origin in decoded.origins[one.known : end] if origin is not Origin.OWN]
        stepped = accepted.count(Origin.MODEL)
        rounds.append(Round(one.steps, one.drafted, one.evaluated, len(accepted), stepped))
    return decoded, tuple(rounds)


class Memory:
    """A cache of one model's predictions after each output for one prompt."""

    def __init__(self, session: Session, prompt: Sequence[int]) -> None:
        """``session`` answers requests that are not cached; it need not support trees."""
        self._session = session
        self.prompt = list(prompt)
        self._rows: dict[tuple[int, ...], NDArray[np.float32]] = {}

    def rows(self, outputs: Sequence[tuple[int, ...]]) -> Logits:
        """The row after each of ``outputs``."""
        for output in sorted(outputs, key=len, reverse=True):
            if output not in self._rows:
                self._evaluate(output)
        return np.stack([self._rows[output] for output in outputs])

    def _evaluate(self, output: tuple[int, ...]) -> None:
        first = next(length for length in range(len(output) + 1) if output[:length] not in self._rows)
        rows = self._session.forward(Forward([*self.prompt, *output], len(self.prompt) - 1 + first))
        for number, row in enumerate(rows):
            self._rows.setdefault(output[: first + number], row.copy())


class RememberedSession:
    """Answers requests from a `Memory`, like a session that starts with the prompt in its cache."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        # The outputs that the cache of such a session would hold.
        self._held: set[tuple[int, ...]] = set()
        self.reused = self.kept = 0

    def forward(self, request: Forward) -> Logits:
        return self._answer(request)

    def forward_tree(self, request: TreeForward) -> Logits:
        return self._answer(request)

    def _answer(self, request: Forward | TreeForward) -> Logits:
        begin = len(self._memory.prompt)
        # The first output is empty: the prompt alone, whose last token has position begin - 1.
        every = [one or () for one in outputs(request._replace(logits_from=begin - 1), begin)]
        known = next((place for place, one in enumerate(every[1:]) if one not in self._held), len(every) - 1)
        self.reused = min(begin + known, request.logits_from)
        self._held = set(every)
        asked = every[request.logits_from - begin + 1 :]
        return self._memory.rows(asked) if asked else NO_ROWS
