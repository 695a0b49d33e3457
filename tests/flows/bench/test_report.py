"""Tables, the paper's layout, pictures and COMET, on rows made by hand."""

import os
import xml.etree.ElementTree as ET
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from connectors.comet_program import check_comet, comet_scores
from connectors.tokenizer_files import tokenizer_on_disk
from flows.bench.paper import GRIDS, MASKS, paper_tables
from flows.bench.plan import columns_of, make_plan
from flows.bench.plots import write_plots
from flows.bench.scores import Row, Times
from flows.bench.tables import tables
from operators.errors import InputError, UsageError
from operators.metrics.summary import Percentiles


def row(settings: dict[str, Any], mask_k: int, **figures: Any) -> Row:
    bias = settings["bias"] or 0.0
    given = {
        **{"speedup": 1 + bias, "speedup_range": (1 + bias, 1.1 + bias), "tps_ratio": 1.5, "chrf": 30.0},
        **{"tokens_per_second": 50.0, "bleu": 9.0, "comet": None, "chrf_p": 0.04, "chrf_of_baseline": 80.0},
        **{"ne_raw": 2.0 - bias, "ne_shown": 1.0, "ne_raw_mean": 2.0 - bias, "ne_shown_mean": 0.5},
        **{"accepted_over_drafted": 0.9, "accepted_over_output": bias, "passes": 3, "passes_per_token": 0.3},
        **{"ms_per_update": Percentiles(10.0, 20.0), "updates": 4, "final_accepted_over_drafted": 0.5},
        **{"ms_of_final": Times(9.0, 8.0, 1.0), "ms_of_partial": Times(5.0, 4.0, 1.0), "delay_s": None},
        **{
            "chrf_of_baseline_partials": 70.0,
            "proposed_over_output": 0.2,
            "taken_over_output": 0.1,
            "passes_saved": 3.5,
            "speedup_simulated": 3.0,
        },
    }
    return Row(**settings, mask_k=mask_k, **{**given, **figures})


def rows(**figures: Any) -> list[Row]:
    plan = make_plan({}, GRIDS)
    return [row(columns_of(one), mask, **figures) for one, mask in product(plan.variants, plan.masks)]


def test_speed_has_a_line_for_each_run_and_quality_one_for_each_mask_too() -> None:
    speed, times, passes, quality = tables(rows())
    assert len(speed.rows) == len(make_plan({}, GRIDS).variants)
    assert len(times.rows) == len(passes.rows) == len(speed.rows)
    assert len(quality.rows) == 3 * len(speed.rows)
    assert speed.rows[0][:2] == ("retranslate", "1.00")
    assert "BLEU" in quality.columns
    assert "BLEU" not in tables(rows(chrf=None))[-1].columns
    assert "COMET" in tables(rows(comet=0.8))[-1].columns


def test_markdown_has_as_many_cells_in_each_line() -> None:
    for table in (*tables(rows()), *paper_tables(rows())):
        lines = [line for line in table.markdown().splitlines() if line.startswith("|")]
        assert len({line.count("|") for line in lines}) == 1
        assert len(lines) == len(table.rows) + 2


def test_the_papers_tables_print_no_figure_of_the_paper_that_was_not_read_in_it() -> None:
    methods, biases, masks = paper_tables(rows())
    assert [one[0] for one in methods.rows] == ["RT", "SSBD β=0.2"]
    assert methods.rows[1][-2:] == ("1.3–1.7×", "not available here")
    assert [float(one[0]) for one in biases.rows] == [0, 0.1, 0.2, 0.3, 0.4, 0.5, 1]
    assert {one[-1] for one in biases.rows} == {"not available here"}
    assert [one[0] for one in masks.rows] == [
        "SSBD, no mask", *(f"mask-{k} on the draft" for k in MASKS),
        *(f"display-only mask-{k}" for k in MASKS), "CD",
    ]  # fmt: skip
    assert masks.rows[3][masks.columns.index("NE to RT")] == "-75 %"


@pytest.mark.parametrize("figures", [{}, {"chrf": None}])
def test_pictures_are_valid_and_the_same_figures_give_the_same_file(
    tmp_path: Path, figures: dict[str, Any]
) -> None:
    paths = write_plots(rows(**figures), "caption", tmp_path)
    first = [path.read_bytes() for path in paths]
    assert [path.name for path in paths] == ["bias.svg", "acceptance.svg"]
    assert all(ET.fromstring(data).tag.endswith("svg") for data in first)
    assert [path.read_bytes() for path in write_plots(rows(**figures), "caption", tmp_path)] == first


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
    with pytest.raises(InputError, match="no COMET checkpoint"):
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
    monkeypatch.setattr("connectors.tokenizer_files.find_spec", lambda _name: object())
    assert tokenizer_on_disk("13a") == "13a"
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "sacrebleu_tokenizer_spm.model").touch()
    assert tokenizer_on_disk("13a") == "flores101"
    monkeypatch.setattr("connectors.tokenizer_files.find_spec", lambda _name: None)
    assert tokenizer_on_disk("13a") == "13a"
