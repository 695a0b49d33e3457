"""Table 1 of the paper on blockwise parallel decoding (Stern et al. 2018), with our figures next to theirs.

BLEU and mean accepted block of whole sentences by k, the number of tokens that a pass predicts: the model's
own next one and those of k − 1 heads. A run has one model with its heads, which is one column of the table:
the base frozen or tuned, on original or distilled data (``surtitle model heads``). The paper's figures are in
``blockwise.toml``.
"""

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from flows.measuring.measured import MeasuredRun
from flows.measuring.plan import BASELINE, Grid
from flows.measuring.results import Row
from flows.pages.table import Table, number

#: The protocol, as signatures name it.
NAME = "stern2018"
#: A sentence is translated once, from scratch (so each segment has to be one update: ``--lag 1000``), and a
#: block has the tokens of all heads, however probable they are.
PROTOCOL: dict[str, Any] = {"guards": "none", "accept": "exact", "commit": 0, "sure": 0.0}
_NEAR = ("near-0.4", "near-0.5", "near-0.6")
#: The maximum number of heads of a model: with a block of this length, all of them propose.
_ALL = 16


def _grid(**varied: Sequence[Any]) -> Grid:
    same = {key: (value,) for key, value in PROTOCOL.items()}
    return {"method": (BASELINE, "heads"), **same, "mask_k": (0,), **varied}


#: The grids of each table, without the heads: table 1, and the rules of section 5 with every head.
TABLES: dict[str, tuple[Grid, ...]] = {
    "1": (_grid(block=(1, 3, 5, 7, 9)),),
    "rules": (
        _grid(block=(_ALL,), proposal_accept=("exact", "top-2", "top-3", *_NEAR)),
        _grid(block=(_ALL,), min_block=(2, 3)),
    ),
}
_NOTES = (
    "BLEU, and the mean accepted block: greedy decoding's passes divided by the method's. Where a model has "
    "fewer heads, all of them propose. A frozen base gives the same output here as without heads; the "
    "authors' has a new layer before its first prediction, too.",
    "The paper's figures: Stern et al. 2018, table 1 (newstest2013, English to German; greedy: {greedy}).",
)


def grids_of(tables: Sequence[str], heads: str) -> list[Grid]:
    """The grids of these tables, for a model with the heads in a file."""
    return [{**grid, "heads": (heads,)} for table in tables for grid in TABLES[table]]


@cache
def published() -> dict[str, Any]:
    """The paper's table: BLEU and mean block by column and k."""
    return tomllib.loads(Path(__file__).with_name("blockwise.toml").read_text(encoding="utf-8"))


def paper_tables(runs: Sequence[MeasuredRun], wanted: Sequence[str]) -> tuple[Table, ...]:
    """Table 1, and a table of the rules for each run; a dash marks what was not measured."""
    made = [_table_1(runs)] if "1" in wanted else []
    return (*made, *(_rules(run) for run in runs if "rules" in wanted))


def _table_1(runs: Sequence[MeasuredRun]) -> Table:
    paper = {name: figures for name, figures in published().items() if name != "greedy"}
    lines = [("1", *(cell for run in runs for cell in _cells(run.rows[0])), *[""] * 2 * len(paper))]
    for k in sorted({int(k) for figures in paper.values() for k in figures}):
        ours = [cell for run in runs for cell in _cells(_with_heads(run.rows, k - 1))]
        theirs = [f"{figure:.2f}" for figures in paper.values() for figure in figures[str(k)]]
        lines.append((str(k), *ours, *theirs))
    return Table(
        "Table 1: BLEU and mean accepted block, here and in the paper",
        ("k", *("BLEU", "block") * (len(runs) + len(paper))),
        tuple(lines),
        groups=(*((f"here: {run.model}", 2) for run in runs), *((name, 2) for name in paper)),
        notes=tuple(note.format(greedy=published()["greedy"]) for note in _NOTES),
    )


def _with_heads(rows: Sequence[Row], count: int) -> Row | None:
    wanted = {"method": "heads", "proposal_accept": "exact", "min_block": 1, "block": count}
    return next((row for row in rows if wanted.items() <= row["settings"].items()), None)


def _rules(run: MeasuredRun) -> Table:
    """Section 5: what the heads gain under each rule, and what it costs."""
    rows = [run.rows[0], *(row for row in run.rows if row["settings"]["block"] == _ALL)]
    lines = tuple((_rule(row["settings"]), *_cells(row)) for row in rows)
    return Table(f"Acceptance of proposals: {run.model}", ("", "BLEU", "block"), lines)


def _rule(settings: Mapping[str, Any]) -> str:
    if settings["method"] == BASELINE:
        return "greedy"
    least = settings["min_block"]
    return f"at least {least} a block" if least > 1 else str(settings["proposal_accept"])


def _cells(row: Row | None) -> tuple[str, str]:
    """BLEU, and tokens per pass."""
    found: Mapping[str, Any] = {} if row is None else row["metrics"]
    return number(found.get("bleu"), 2), number(found.get("passes_saved"), 2)
