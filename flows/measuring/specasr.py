"""SpecASR's figures 6a, 11 to 13 and table II (Wei et al. 2025): the paper's next to ours.

They are computed from trajectories at the costs of several pairs of models. The paper's figures are in
``specasr.toml``.
"""

import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from flows.measuring.results import Row
from flows.pages.table import Column, Table, tabulated
from operators.decoding.pass_cost import PassCosts
from operators.research.trajectory import Trajectory, autoregressive, replay


@cache
def published() -> dict[str, Any]:
    """The figures of the paper."""
    return tomllib.loads(Path(__file__).with_name("specasr.toml").read_text(encoding="utf-8"))


class Costs(NamedTuple):
    name: str
    draft: PassCosts
    target: PassCosts
    #: The authors' figures for such costs, as a sentence; ``is_table``: whether they are in table II instead.
    note: str = ""
    is_table: bool = False


def costs_of_pair(pair: dict[str, Any]) -> Costs:
    """The costs on a machine where a pass costs the same whatever it evaluates."""
    ratio, is_table = pair["ratio"], "over_plain" not in pair
    name = f"{pair['name']}: in steps of the draft model; a pass costs {ratio:g} steps"
    speeds = "SpecASR, figure 11: speedup {over_autoregressive}, over plain decoding {over_plain}"
    note = "" if is_table else speeds.format(**pair)
    return Costs(name, PassCosts((1,), (1.0,)), PassCosts((1,), (ratio,)), note=note, is_table=is_table)


def rows_of(trajectories: Sequence[Trajectory], costs: Sequence[Costs]) -> list[Row]:
    """A row for each way of drafting: counts, and for each of ``costs`` the time.

    Drafted tokens are counted in all branches. A step of the draft model without an accepted token is
    ineffective. Times are per text, in the unit of the costs. Speedups are relative to decoding with the main
    model alone, and to the first way.
    """
    by_way: dict[str, list[Trajectory]] = {}
    for trajectory in trajectories:
        by_way.setdefault(trajectory.method, []).append(trajectory)
    rows: list[Row] = []
    for way, own in by_way.items():
        rounds = [one for trajectory in own for one in trajectory.rounds]
        draft_steps = sum(len(one.steps) for one in rounds)
        metrics: dict[str, Any] = {
            "texts": len(own),
            "tokens": sum(trajectory.tokens for trajectory in own),
            "rounds": len(rounds),
            "draft_steps": draft_steps,
            "drafted": sum(one.drafted for one in rounds),
            "accepted": sum(one.accepted for one in rounds),
            "accepted_lengths": _histogram(one.accepted for one in rounds),
            "ineffective_steps": draft_steps - sum(one.stepped for one in rounds),
            "times": [_times(own, one) for one in costs],
        }
        metrics["accepted_over_drafted"] = metrics["accepted"] / max(1, metrics["drafted"])
        rows.append({"settings": {"drafting": way}, "metrics": metrics})
    first = rows[0]["metrics"]
    for metrics in (row["metrics"] for row in rows):
        metrics["accepted_per_round_of_first"] = _ratio(metrics, first, "accepted", "rounds")
        metrics["ineffective_steps_of_first"] = _ratio(metrics, first, "ineffective_steps", "texts")
        for before, time in zip(first["times"], metrics["times"], strict=True):
            total = time["draft"] + time["target"]
            time["speedup_over_first"] = (before["draft"] + before["target"]) / max(1e-9, total)
    return rows


def _ratio(metrics: dict[str, Any], first: dict[str, Any], name: str, per: str) -> float:
    """A mean, as a multiple of the first row's."""
    return float(metrics[name] / max(1, metrics[per]) / max(1e-9, first[name] / max(1, first[per])))


def _times(trajectories: Sequence[Trajectory], costs: Costs) -> dict[str, Any]:
    count = len(trajectories)
    passes = replay(trajectories, costs.draft, costs.target)
    draft = passes.draft / count
    target = passes.target / count
    alone = autoregressive(trajectories, costs.target) / count
    speedup = alone / max(1e-9, draft + target)
    return {"costs": costs.name, "draft": draft, "target": target, "speedup": speedup}


def _histogram(values: Iterable[int]) -> list[int]:
    """How often each value occurs, from 0 on."""
    counts = Counter(values)
    return [counts[value] for value in range(max(counts, default=0) + 1)]


RANKS = "where the draft model's most probable token is wrong"


def tables(rows: Sequence[Row], costs: Sequence[Costs]) -> list[Table]:
    made = [
        tabulated("Counts, means per text", rows, _STEPS),
        tabulated("Relative counts", rows, _RELATIVE),
        tabulated("Accepted tokens per round, share of the rounds", rows, _LENGTHS_ACCEPTED),
    ]
    for number, one in enumerate(costs):
        times = [{**row, **row["metrics"]["times"][number]} for row in rows]
        notes = (one.note,) if one.note else ()
        columns = [*_TIMES, *(_TABLE if one.is_table else ())]
        made.append(tabulated(f"Cost of a text, {one.name}", times, columns, notes=notes))
    return made


def ranks_table(right: dict[str, Any]) -> Table:
    """Figure 13b."""
    counts = {int(rank): count for rank, count in right["ranks"].items()}
    wrong = sum(counts.values())
    shares = [counts.get(rank, 0) / max(1, wrong) for rank in range(2, _LAST_RANK + 1)]
    own = [f"{100 * share:.1f} %" for share in (*shares, max(0.0, 1 - sum(shares)) if wrong else 0.0)]
    columns = ("", *(f"rank {rank}" for rank in range(2, _LAST_RANK + 1)), "later")
    rows = (
        (f"{wrong} of {right['tokens']} tokens", *own),
        ("SpecASR, figure 13b", published()["ranks"]["second"], *[""] * (len(own) - 1)),
    )
    return Table(f"Rank of the true token {RANKS}", columns, rows)


def _per(heading: str, name: str, whole: str, digits: int = 1, unit: str = "") -> Column:
    return Column(heading, lambda row: row["metrics"][name] / max(1, row["metrics"][whole]), digits, unit)


def _printed(
    figure: Callable[[dict[str, Any]], float | None], heading: str, digits: int, unit: str
) -> Column:
    """A figure of the paper for a technique."""

    def value(row: Row) -> float | None:
        own = published()["ways"].get(row["settings"]["drafting"])
        return None if own is None else figure(own)

    return Column(heading, value, digits, unit)


def _beside(heading: str, name: str, digits: int) -> list[Column]:
    """A share, next to the paper's."""
    own = Column(heading, f"metrics.{name}", digits, "%")
    return [own, _printed(lambda figures: figures.get(name), "SpecASR", digits, "%")]


def _between(least: int, most: int | None) -> Column:
    """The share of rounds with this number of accepted tokens."""

    def share(row: Row) -> float:
        return float(sum(row["metrics"]["accepted_lengths"][least:most]) / max(1, row["metrics"]["rounds"]))

    heading = f"{least}+" if most is None else str(least) if most == least + 1 else f"{least}–{most - 1}"
    return Column(heading, share, 0, "%")


def _share(times: dict[str, Any]) -> float:
    return float(times["draft"] / max(1e-9, times["draft"] + times["target"]))


_LAST_RANK = 5
_STEPS = (
    Column("drafting", "settings.drafting"),
    _per("rounds", "rounds", "texts"),
    _per("draft steps", "draft_steps", "texts"),
    _per("drafted", "drafted", "texts"),
    _per("accepted", "accepted", "texts"),
    _per("accepted/round", "accepted", "rounds", 2),
    _per("ineffective steps", "ineffective_steps", "texts"),
)
_RELATIVE = (
    _STEPS[0],
    *_beside("accepted/drafted", "accepted_over_drafted", 1),
    *_beside("accepted/round of the first row's", "accepted_per_round_of_first", 0),
    *_beside("ineffective steps of the first row's", "ineffective_steps_of_first", 0),
)
_BOUNDS = (0, 1, 3, 5, 9, 13, 17, 25)
_LENGTHS_ACCEPTED = (_STEPS[0], *map(_between, _BOUNDS, (*_BOUNDS[1:], None)))
_TIMES = (
    _STEPS[0],
    Column("draft", "draft", 0),
    Column("target", "target", 0),
    Column("total", lambda row: row["draft"] + row["target"], 0),
    Column("draft's share", _share, 0, "%"),
    Column("speedup", "speedup", 2),
    Column("over the first row", "speedup_over_first", 2),
)
#: Table II.
_TABLE = (
    _printed(_share, "SpecASR: share", 0, "%"),
    _printed(
        lambda own: float(published()["ways"]["plain, 8"]["total"] / own["total"]), "over its first", 2, ""
    ),
)
