"""The table of the paper on blockwise decoding: ours stand in their place beside the authors'."""

from typing import Any

from flows.measuring.blockwise import BlockwiseRun, paper_tables
from flows.measuring.results import Row


def row(bleu: float, saved: float, **settings: Any) -> Row:
    own = {"method": "heads", "proposal_accept": "exact", "min_block": 1, "block": None, "mask_k": 0}
    return {"settings": own | settings, "metrics": {"bleu": bleu, "passes_saved": saved}}


def test_a_run_is_a_column_and_what_it_did_not_measure_is_dashed() -> None:
    rows = [
        row(41.0, 1.0, method="retranslate"),
        row(41.5, 1.3, block=1),
        row(40.5, 1.8, block=7),
        row(30.0, 2.5, block=7, proposal_accept="near-0.5"),
    ]
    table, rules = paper_tables([BlockwiseRun("tuned, distilled", rows)])
    lines = {line[0]: line[1:] for line in table.rows}
    assert [lines[k][:2] for k in ("1", "2", "8", "10")] == [
        ("41.00", "1.00"), ("41.50", "1.30"), ("40.50", "1.80"), ("–", "–")
    ]  # fmt: skip
    assert lines["8"][-2:] == ("26.11", "4.69")
    assert {len(line) for line in table.rows} == {len(table.columns)} == {1 + sum(n for _, n in table.groups)}
    assert [line[-2:] for line in rules.rows] == [("30.00", "2.50")]
    assert "near-0.5" in rules.rows[0][0]
