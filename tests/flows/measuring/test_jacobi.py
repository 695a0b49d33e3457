"""The tables of the paper on parallel decoding: each algorithm has its own row of a run, and the paper's."""

from typing import Any

from flows.measuring.jacobi import grids_of, paper_tables
from flows.measuring.measured import MeasuredRun
from flows.measuring.plan import make_plan, row_settings


def a_run(threads: int, *grids: dict[str, Any]) -> MeasuredRun:
    """Each row has saved as many passes as its number says."""
    plan = make_plan({"to": "Portuguese"}, grids or grids_of(["1", "6"]))
    rows = [
        {
            "settings": {**row_settings(one), "mask_k": 0},
            "metrics": {"speedup": 0.5, "bleu": None, "chrf_of_baseline": 100.0, "passes_saved": place},
        }
        for place, one in enumerate(plan.variants)
    ]
    return MeasuredRun(plan, rows, {"threads": threads})


def test_each_algorithm_is_found_in_each_run_and_stands_beside_the_papers() -> None:
    speed, iterations = paper_tables([a_run(1), a_run(2)], ["1", "6"])
    assert iterations.columns == ("", "en→pt, 1 thread", "en→pt, 2 threads", "the paper")
    assert iterations.rows == (
        ("Greedy", "0.00", "0.00", "1.00"),
        ("PJ", "1.00", "1.00", "1.03–1.04"),
        ("PGJ, b = 5", "2.00", "2.00", "–"),
        ("PGJ, b = 3", "3.00", "3.00", "1.03–1.11"),
        ("HGJ, b = 3", "4.00", "4.00", "1.01–1.08"),
    )
    assert speed.rows[1][:7] == ("PJ", *("0.50", "–", "100.0") * 2)
    assert speed.rows[1][7:11] == ("0.73", "0.75", "0.66", "0.66")
    assert {len(row) for row in speed.rows} == {len(speed.columns)} == {1 + sum(n for _, n in speed.groups)}


def test_rows_that_do_not_start_from_padding_are_not_in_the_papers_tables() -> None:
    methods = ("retranslate", "jacobi", "gs-jacobi")
    grid = {"method": methods, "block": (3,), "guess": ("draft", "pad")}
    (iterations,) = paper_tables([a_run(1, grid)], ["6"])
    assert [row[1] for row in iterations.rows] == ["0.00", "2.00", "–", "4.00", "–"]
