"""What a decoding with a draft model did, round by round, and its cost for any cost of the passes.

SpecASR (Wei et al. 2025, section V) is measured this way: trajectories of one pair of models, replayed at the
costs of another. A round is a draft and the pass that verifies it. The evaluation of the prompt is not
counted for either model.
"""

from collections.abc import Sequence
from typing import Annotated, NamedTuple

import msgspec

from operators.decoding.drive import drive
from operators.decoding.forward import Decoded, Forward, Logits, Method, Origin, Session, Task, TreeForward
from operators.decoding.pass_cost import PassCosts
from operators.decoding.watched import See, Took, watched

Count = Annotated[int, msgspec.Meta(ge=0, le=10**9)]


class Round(msgspec.Struct, frozen=True, array_like=True):
    """One draft, and the pass that verified it."""

    #: Tokens that each pass of the draft model evaluated.
    steps: tuple[Count, ...]
    #: Tokens drafted, in all branches; and evaluated by the pass, including the known one before them.
    drafted: Count
    evaluated: Count
    #: Accepted draft tokens, and those of them that took a step of their own.
    accepted: Count
    stepped: Count


class Trajectory(msgspec.Struct, frozen=True, kw_only=True):
    """One text, decoded in one way."""

    text: str
    method: str
    #: Tokens of the output.
    tokens: Count
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


def _watcher(known_prompt: Sequence[int], passes: list[_Pass], *, is_draft: bool) -> See:
    prompt = len(known_prompt)

    def see(request: Forward | TreeForward, logits: Logits, took: Took) -> None:
        end = request.logits_from + len(logits)
        known = request.logits_from + 1 - prompt
        # The prompt's last token is always evaluated.
        passes.append(_Pass(is_draft, min(took.evaluated, end - prompt + 1), known, end - prompt - known))

    return see
