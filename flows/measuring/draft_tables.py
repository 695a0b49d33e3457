"""Results of ``surtitle bench-drafts``: trajectories, and tables of their steps.

The tables show the figures of SpecASR (Wei et al. 2025), figures 11 to 13 and table II.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from flows.measuring.results import Results
from flows.pages.table import Column, Table, tabulated
from operators.decoding.pass_cost import PassCosts
from operators.research.trajectory import Replayed, Trajectory, autoregressive, replay

Row = dict[str, Any]


class Costs(NamedTuple):
    """The cost of passes of a pair of models."""

    name: str
    draft: PassCosts
    target: PassCosts
    #: Additional cost of each text, however it is drafted: the encoders of speech models.
    draft_encoder: float = 0.0
    target_encoder: float = 0.0


class Drafts(NamedTuple):
    """The trajectories, how they were measured, and the cost of passes on that machine."""

    signature: dict[str, Any]
    costs: list[Costs]
    trajectories: list[Trajectory]


def results_of(drafts: Drafts, ratios: Sequence[float]) -> Results:
    """Steps and costs of all ways of drafting; ``ratios`` are pass costs in draft-model steps."""
    found: dict[str, list[Trajectory]] = {}
    for trajectory in drafts.trajectories:
        found.setdefault(trajectory.method, []).append(trajectory)
    steps = [_steps(method, some) for method, some in found.items()]
    times = [_times(found, costs) for costs in [*drafts.costs, *map(_at_ratio, ratios)]]
    rows = {"steps": steps, "times": [one for some in times for one in some]}
    return Results(drafts.signature, rows, _tables(steps, times))


def _at_ratio(ratio: float) -> Costs:
    """The costs of a pair on a machine where a pass costs the same whatever it evaluates."""
    name = f"in steps of the draft model, of which a pass costs {ratio:g} whatever it evaluates"
    return Costs(name, PassCosts((1,), (1.0,)), PassCosts((1,), (ratio,)))


def _steps(method: str, trajectories: Sequence[Trajectory]) -> Row:
    """Counts over the trajectories of one way of drafting, independent of the cost of passes.

    Tokens are drafted in all branches; ineffective are steps of the draft model without an accepted token.
    """
    rounds = [one for trajectory in trajectories for one in trajectory.rounds]
    draft_steps = sum(len(one.steps) for one in rounds)
    return {
        "method": method,
        "texts": len(trajectories),
        "tokens": sum(trajectory.tokens for trajectory in trajectories),
        "rounds": len(rounds),
        "draft_steps": draft_steps,
        "drafted": sum(one.drafted for one in rounds),
        "accepted": sum(one.accepted for one in rounds),
        "ineffective_steps": draft_steps - sum(one.stepped for one in rounds),
    }


def _times(found: dict[str, list[Trajectory]], costs: Costs) -> list[Row]:
    """The mean cost of a text of all ways, in milliseconds or in the unit of ``costs``.

    Speedups are over decoding with the main model alone, and over the first way.
    """
    times: list[Row] = []
    first = 0.0
    for method, trajectories in found.items():
        count = max(1, len(trajectories))
        passes = replay(trajectories, costs.draft, costs.target)
        encoders = count * costs.draft_encoder, count * costs.target_encoder
        spent = Replayed(passes.draft + encoders[0], passes.target + encoders[1])
        alone = autoregressive(trajectories, costs.target) + encoders[1]
        first = first or spent.total
        times.append(
            {
                "method": method,
                "costs": costs.name,
                "draft": spent.draft / count,
                "target": spent.target / count,
                "speedup": alone / max(1e-9, spent.total),
                "speedup_over_first": first / max(1e-9, spent.total),
            }
        )
    return times


def _tables(steps: Sequence[Row], times: Sequence[Sequence[Row]]) -> list[Table]:
    """A table of the steps, and one of their cost for each entry of costs."""
    first = max(1, steps[0]["ineffective_steps"]) if steps else 1
    of_first = Column("of the first row's", lambda row: row["ineffective_steps"] / first, 0, "%")
    return [
        tabulated("What was done, means of a text", steps, [*_STEPS, of_first]),
        *(tabulated(f"What a text costs, {some[0]['costs']}", some, _TIMES) for some in times if some),
    ]


def _per(heading: str, name: str, whole: str, digits: int = 1, unit: str = "") -> Column:
    return Column(heading, lambda row: row[name] / max(1, row[whole]), digits, unit)


_STEPS = (
    Column("drafting", "method"),
    _per("rounds", "rounds", "texts"),
    _per("draft steps", "draft_steps", "texts"),
    _per("drafted", "drafted", "texts"),
    _per("accepted", "accepted", "texts"),
    _per("accepted/round", "accepted", "rounds", 2),
    _per("accepted/drafted", "accepted", "drafted", 1, "%"),
    _per("ineffective steps", "ineffective_steps", "texts"),
)
_TIMES = (
    Column("drafting", "method"),
    Column("draft", "draft", 0),
    Column("target", "target", 0),
    Column("total", lambda row: row["draft"] + row["target"], 0),
    Column("draft's share", lambda row: row["draft"] / max(1e-9, row["draft"] + row["target"]), 0, "%"),
    Column("speedup", "speedup", 2),
    Column("over the first row", "speedup_over_first", 2),
)
