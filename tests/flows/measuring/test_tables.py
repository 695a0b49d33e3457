"""Tables, the paper's layout and plots, on rows made by hand."""

import xml.etree.ElementTree as ET
from itertools import product

import pytest

from flows.measuring.methods.paper import BIASES, GRIDS, paper_tables
from flows.measuring.methods.plan import Grid, columns_of, make_plan
from flows.measuring.methods.tables import label, plots, sweep, tables
from tests.flows.measuring.made_rows import made, row, rows


def test_speed_has_a_line_for_each_run_and_quality_one_for_each_mask_too() -> None:
    speed, times, passes, quality, partials = tables(rows())
    assert len(speed.rows) == len(make_plan({}, GRIDS).variants)
    assert len(times.rows) == len(passes.rows) == len(partials.rows) == len(speed.rows)
    assert len(quality.rows) == 3 * len(speed.rows)
    assert speed.rows[0][:2] == ("retranslate", "1.00")
    assert partials.rows[0] == ("retranslate", "60.0", "25.0 %", "2.0 %")
    assert "BLEU" in quality.columns
    assert "BLEU" not in tables(rows(chrf=None))[3].columns
    assert "COMET" in tables(rows(comet=0.8))[3].columns


def test_markdown_has_as_many_cells_in_each_line() -> None:
    for table in (*tables(rows()), *paper_tables(made())):
        lines = [line for line in table.markdown().splitlines() if line.startswith("|")]
        assert len({line.count("|") for line in lines}) == 1
        assert len(lines) == len(table.rows) + 2


def test_a_label_has_the_bias_and_what_is_not_as_the_product_runs_by_default() -> None:
    grid = Grid(("ssbd",), (0.0, 0.2), (3,), (0, 1), accept=("bias", "worth-0.6", "exact", "top-2"))
    plan = make_plan({}, [grid, Grid(final_bias=("same",))])
    assert [label(row(columns_of(one), 3), mask=False) for one in plan.variants] == [
        "retranslate",
        "ssbd β=0 commit=0", "ssbd accept=worth-0.6 commit=0", "ssbd accept=exact commit=0",
        "ssbd accept=top-2 commit=0",
        "ssbd β=0", "ssbd accept=worth-0.6", "ssbd accept=exact", "ssbd accept=top-2",
        "ssbd β=0.2 commit=0", "ssbd β=0.2", "ssbd β=0.2 final β=0.2",
    ]  # fmt: skip


def test_a_picture_against_the_bias_takes_the_longest_sweep() -> None:
    plan = make_plan({}, [Grid(accept=("worth-0.6", "bias")), *GRIDS])
    mixed = [row(columns_of(one), mask) for one, mask in product(plan.variants, plan.masks)]
    assert tuple(one.bias for one in sweep(mixed, 0)) == BIASES
    assert "bias.svg" in plots([one for one in mixed if one.bias is None or one.bias == 0.2], "caption")


@pytest.mark.parametrize(
    "grid", [Grid(("ssbd",), accept=("worth-0.6", "top-2")), Grid(("continuous",)), Grid(("retranslate",))]
)
def test_without_a_bias_there_is_the_picture_that_needs_none(grid: Grid) -> None:
    plan = make_plan({}, [grid])
    assert [*plots([row(columns_of(one), 3) for one in plan.variants], "caption")] == ["acceptance.svg"]


def test_pictures_are_valid_and_the_same_figures_give_the_same_file() -> None:
    drawn = plots(rows(), "model & machine")
    assert [*drawn] == ["acceptance.svg", "bias.svg"]
    for picture in drawn.values():
        assert ET.fromstring(picture).tag.endswith("svg")
        assert "model &amp; machine" in picture
    assert plots(rows(), "model & machine") == drawn
    assert len(plots(rows(chrf=None), "caption")) == 2


def test_a_higher_speedup_stands_higher_in_the_picture_under_a_number_that_the_legend_explains() -> None:
    plan = make_plan({}, [Grid(("ssbd",), (0.2, 0.4), accept=("bias",))])
    picture = ET.fromstring(plots([row(columns_of(one), 3) for one in plan.variants], "")["acceptance.svg"])
    heights = {one.text: float(one.get("y", 0)) for one in picture.iter() if one.text}
    assert heights["1"] > heights["2"] > heights["3"]
    assert {"1  retranslate", "2  ssbd β=0.2", "3  ssbd β=0.4"} <= heights.keys()
