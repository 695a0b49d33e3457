"""Tables, the paper's layout, pictures and COMET, on rows made by hand."""

import os
import xml.etree.ElementTree as ET
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from connectors.scoring.comet import check_comet, comet_scores
from connectors.scoring.tokenizers import tokenizer_on_disk
from flows.bench.paper import BIASES, GRIDS, paper_tables
from flows.bench.plan import Grid, columns_of, make_plan
from flows.bench.plots import against_bias, write_plots
from flows.bench.tables import label, tables
from operators.errors import InputError, UsageError
from tests.flows.bench.made_rows import made, row, rows


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


def test_a_picture_against_the_bias_takes_the_longest_sweep(tmp_path: Path) -> None:
    plan = make_plan({}, [Grid(accept=("worth-0.6", "bias")), *GRIDS])
    mixed = [row(columns_of(one), mask) for one, mask in product(plan.variants, plan.masks)]
    axes = against_bias(mixed, "caption").axes[0]
    assert np.array_equal(axes.lines[0].get_xdata(), BIASES)
    write_plots([one for one in mixed if one.bias is None or one.bias == 0.2], "caption", tmp_path)


@pytest.mark.parametrize(
    "grid", [Grid(("ssbd",), accept=("worth-0.6", "top-2")), Grid(("continuous",)), Grid(("retranslate",))]
)
def test_without_a_bias_there_is_the_picture_that_needs_none(tmp_path: Path, grid: Grid) -> None:
    plan = make_plan({}, [grid])
    (path,) = write_plots([row(columns_of(one), 3) for one in plan.variants], "caption", tmp_path)
    assert path.name == "acceptance.svg"


def test_pictures_are_valid_and_the_same_figures_give_the_same_file(tmp_path: Path) -> None:
    paths = write_plots(rows(), "caption", tmp_path)
    first = [path.read_bytes() for path in paths]
    assert [path.name for path in paths] == ["acceptance.svg", "bias.svg"]
    assert all(ET.fromstring(data).tag.endswith("svg") for data in first)
    assert [path.read_bytes() for path in write_plots(rows(), "caption", tmp_path)] == first
    assert len(write_plots(rows(chrf=None), "caption", tmp_path)) == 2


def program(folder: Path, script: str) -> None:
    """A comet-score of our own."""
    (folder / "comet-score").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "comet-score").chmod(0o755)


def test_comet_is_asked_of_its_program_once_for_all_systems(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    checkpoint = tmp_path / "model.ckpt"
    checkpoint.touch()
    # Its arguments: -s SOURCE -r REFERENCE -t FIRST SECOND …
    program(tmp_path, r'printf "$6\tSegment 0\tscore: 0.1\n$6\tscore: 0.7512\n$7\tscore: -0.2\n"')
    assert "model.ckpt" in check_comet(checkpoint)
    assert comet_scores(checkpoint, ["a"], ["b"], [["c"], ["d"]]) == [0.7512, -0.2]
    program(tmp_path, "echo 'it is broken' >&2; exit 3")
    with pytest.raises(InputError, match="it is broken"):
        comet_scores(checkpoint, ["a"], ["b"], [["c"]])
    with pytest.raises(InputError, match="not a COMET checkpoint"):
        check_comet(tmp_path / "none.ckpt")


def test_without_its_program_comet_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="unbabel-comet"):
        check_comet(tmp_path / "model.ckpt")


def test_a_sentencepiece_tokenizer_is_used_only_where_its_file_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SACREBLEU", str(tmp_path))
    monkeypatch.setattr("connectors.scoring.tokenizers.find_spec", lambda _name: object())
    assert tokenizer_on_disk("13a") == "13a"
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "sacrebleu_tokenizer_spm.model").touch()
    assert tokenizer_on_disk("13a") == "flores101"
    monkeypatch.setattr("connectors.scoring.tokenizers.find_spec", lambda _name: None)
    assert tokenizer_on_disk("13a") == "13a"
