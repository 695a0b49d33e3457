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
from typing import Any, NamedTuple

from flows.measuring.results import Row
from flows.measuring.tables import label
from flows.pages.table import Table, number

_PROTOCOL: dict[str, Sequence[Any]] = {
    "accept": ("exact",), "commit": (0,), "hold_back": (0,), "sure": (0.0,), "mask_k": (0,)
}  # fmt: skip
#: The grids for the tables, to which the run adds its ``heads``; each segment has to be one update (``--lag
#: 1000``). A block of n proposed tokens needs n heads; with fewer it is the same as with all of them.
GRIDS: tuple[dict[str, Sequence[Any]], ...] = (
    {"method": ("retranslate", "heads"), **_PROTOCOL, "block": (1, 3, 5, 7, 9)},
)
_NEAR = ("near-0.4", "near-0.5", "near-0.6")
#: The rules of section 5, each with every head.
RULES: tuple[dict[str, Sequence[Any]], ...] = (
    {"method": ("heads",), **_PROTOCOL, "proposal_accept": ("top-2", "top-3", *_NEAR)},
    {"method": ("heads",), **_PROTOCOL, "min_block": (2, 3)},
)
_NOTES = (
    "BLEU, and the mean accepted block: greedy decoding's passes divided by the method's. A frozen base here "
    "says what it says without heads; the authors' has a new layer before its first prediction, too.",
    "The paper's figures: Stern et al. 2018, table 1 (newstest2013, English to German; greedy: {greedy}).",
)


class BlockwiseRun(NamedTuple):
    #: Which column of the paper's it is; any other name stands for itself.
    name: str
    rows: Sequence[Row]


@cache
def published() -> dict[str, Any]:
    """The paper's table: BLEU and mean block by column and k."""
    return tomllib.loads(Path(__file__).with_name("blockwise.toml").read_text(encoding="utf-8"))


def paper_tables(runs: Sequence[BlockwiseRun]) -> tuple[Table, ...]:
    """Table 1, and the acceptance rules that the runs have; what was not measured is dashed."""
    paper = {name: figures for name, figures in published().items() if name != "greedy"}
    blocks = sorted({int(k) for figures in paper.values() for k in figures})
    lines = [
        (
            str(k),
            *(cell for run in runs for cell in _cells(_exact(run.rows, k))),
            *(f"{figure:.2f}" for figures in paper.values() for figure in figures[str(k)]),
        )
        for k in blocks
    ]
    greedy = [cell for run in runs for cell in _cells(run.rows[0]["metrics"])]
    table = Table(
        "Table 1: BLEU and mean accepted block, here and in the paper",
        ("k", *("BLEU", "block") * (len(runs) + len(paper))),
        (("1", *greedy, *[""] * 2 * len(paper)), *lines),
        groups=(*((f"here: {run.name}", 2) for run in runs), *((name, 2) for name in paper)),
        notes=tuple(note.format(greedy=published()["greedy"]) for note in _NOTES),
    )
    return (table, *filter(None, (_rules(run) for run in runs)))


def _exact(rows: Sequence[Row], k: int) -> Mapping[str, Any] | None:
    return next(
        (row["metrics"] for row in rows if _is_exact(row) and row["settings"]["block"] == k - 1), None
    )


def _is_exact(row: Row) -> bool:
    own = row["settings"]
    return own["method"] == "heads" and (own["proposal_accept"], own["min_block"]) == ("exact", 1)


def _rules(run: BlockwiseRun) -> Table | None:
    """Section 5: what each rule accepts, and what it costs."""
    others = [row for row in run.rows if row["settings"]["method"] == "heads" and not _is_exact(row)]
    lines = tuple((label(row, mask=False), *_cells(row["metrics"])) for row in others)
    return Table(f"Acceptance rules, {run.name}", ("", "BLEU", "block"), lines) if others else None


def _cells(metrics: Mapping[str, Any] | None) -> tuple[str, str]:
    """BLEU, and tokens per pass."""
    found = metrics or {}
    return number(found.get("bleu"), 2), number(found.get("passes_saved"), 2)
