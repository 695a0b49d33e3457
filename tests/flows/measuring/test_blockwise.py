"""The table of the paper on blockwise decoding: our figures are in the right cells next to the authors'."""

from typing import Any

from flows.measuring.blockwise import grids_of, paper_tables
from flows.measuring.measured import MeasuredRun
from flows.measuring.plan import make_plan, row_settings

BLEU, SAVED = {1: 41.5, 7: 40.5}, {1: 1.3, 7: 1.8}


def run(*tables: str) -> MeasuredRun:
    plan = make_plan({"to": "German"}, grids_of(tables, "any.gguf"))
    rows = []
    for variant in plan.variants:
        own = row_settings(variant)
        figures: dict[str, Any] = {"bleu": 40.0, "passes_saved": 1.0}
        if own["method"] == "heads" and own["block"] is not None:
            figures = {"bleu": BLEU.get(own["block"], 40.0), "passes_saved": SAVED.get(own["block"], 1.0)}
        rows.append({"settings": own | {"mask_k": 0, "mask": "steady"}, "metrics": figures})
    return MeasuredRun(plan, rows, {"model": {"file": "tuned"}})


def test_a_run_is_a_column_with_a_dash_for_what_was_not_measured() -> None:
    (table,) = paper_tables([run("1"), run("rules")], ["1"])
    lines = {line[0]: line[1:] for line in table.rows}
    assert [lines[k][:4] for k in ("1", "2", "8")] == [
        ("40.00", "1.00", "40.00", "1.00"), ("41.50", "1.30", "–", "–"), ("40.50", "1.80", "–", "–")
    ]  # fmt: skip
    assert lines["8"][-2:] == ("26.11", "4.69")
    assert {len(line) for line in table.rows} == {len(table.columns)} == {1 + sum(n for _, n in table.groups)}


def test_the_rules_have_a_line_each() -> None:
    (table,) = paper_tables([run("1", "rules")], ["rules"])
    names = [line[0] for line in table.rows]
    assert names[:3] == ["greedy", "exact", "top-2"]
    assert names[-2:] == ["at least 2 a block", "at least 3 a block"]
    assert len(names) == 9
