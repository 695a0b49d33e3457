"""Tables, the paper's layout and plots of any subject, on rows made by hand; a subject is one folder."""

import json
import re
import shutil
import sys
import xml.etree.ElementTree as ET
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import soundfile
import typer
from typer.testing import CliRunner

import flows.measuring
from flows.cli.app import app
from flows.measuring import subjects as registry
from flows.measuring.methods.paper import BIASES, GRIDS, paper_tables
from flows.measuring.methods.plan import Grid, columns_of, make_plan
from flows.measuring.methods.tables import label, plots, sweep, tables
from flows.measuring.subjects import Subject, subject, subjects
from operators.recognizers.moonshine.recognizer import bundled_model
from tests.flows.measuring.made_rows import made, row, rows
from tests.program import ROOT
from tests.tiny_gguf import pieces, write_model

PARTIALS = ROOT / "tests" / "samples" / "partials.jsonl"
KEPT: dict[str, dict[str, list[str]]] = json.loads(Path(__file__).with_name("kept.json").read_text())

#: A short run of each, with the options that add fields or columns.
COMMANDS = {
    "bench": "text.txt --reference text.txt --draft-model {draft} --likelihood --repeat 1 {model}",
    "bench --paper": "text.txt --paper --repeat 1 {model}",
    "bench-speech": "talk.wav --reference manifest.jsonl --bias 0.2 --certainty 0.7 --native",
    "bench-drafts": "text.txt --draft-model {draft} --lengths 4 --thresholds 0.4 --ratio 8.8 {model}",
    "bench-rooms": "{partials} --rooms 1 --modes batched,flow --simulate 2 --seconds 0.5 {model}",
    "loadgen": "{partials} --rooms 1 --seconds 0.5 {model}",
}


def fields(value: Any, name: str = "") -> set[str]:
    """The names of all fields, those inside others after a dot; rows of a list have theirs together."""
    if isinstance(value, dict):
        return {name}.union(*(fields(part, f"{name}.{key}") for key, part in value.items()))
    if isinstance(value, list):
        return {name}.union(*(fields(part, name) for part in value))
    return {name}


def printed(text: str) -> list[str]:
    """Titles, columns, notes and a signature's names, without the figures, which differ from run to run."""
    lines = []
    for line in text.splitlines():
        is_signature = line[:17].strip().replace("_", "").isalpha() and line[16:17] != " "
        words = (line[:17] if is_signature else re.sub(r"\d[\d.]*", "0", line)).split()
        if words and words.count("0") < 3:
            lines.append(" ".join(words))
    return lines


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for seed, name in enumerate(("model", "draft")):
        write_model(tmp_path / f"{name}.gguf", pieces({}), seed=seed)
    (tmp_path / "text.txt").write_text("the weather\n")
    (tmp_path / "manifest.jsonl").write_text('{"file": "talk.wav", "text": "It was the best of times"}\n')
    samples, rate = soundfile.read(bundled_model().parent / "two_cities.wav", dtype="int16")
    soundfile.write(tmp_path / "talk.wav", samples[: 3 * rate], rate)
    return tmp_path


@pytest.mark.parametrize("named", COMMANDS)
def test_a_command_keeps_the_fields_of_its_json_and_the_columns_of_its_tables(
    named: str, folder: Path
) -> None:
    command, _, _ = named.partition(" ")
    arguments = COMMANDS[named].format(
        partials=PARTIALS, draft=folder / "draft.gguf", model=f"--model {folder / 'model.gguf'} --threads 1"
    )
    result = CliRunner().invoke(
        app, [command, *arguments.split(), "--json", "out.json"], catch_exceptions=False
    )
    assert result.exit_code == 0, result.output
    found = sorted(fields(json.loads((folder / "out.json").read_text())))
    shown = printed(result.stdout.replace(str(folder), "."))
    assert {"fields": found, "printed": shown} == KEPT[named]


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


@pytest.fixture
def added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Subject:
    """The example of the documentation, in a folder of its own."""
    folder = tmp_path / "added" / "words"
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    shutil.copy(ROOT / "docs" / "examples" / "own_benchmark.py", folder / "command.py")
    monkeypatch.setattr(flows.measuring, "__path__", [*flows.measuring.__path__, str(folder.parent)])
    monkeypatch.setattr(registry, "_REGISTERED", dict(registry._REGISTERED))
    found = {one.name: one for one in subjects()}
    for name in ("flows.measuring.words", "flows.measuring.words.command"):
        monkeypatch.delitem(sys.modules, name)
    assert [*found] == ["bench", "bench-drafts", "bench-rooms", "bench-speech", "bench-words", "loadgen"]
    return found["bench-words"]


def test_a_folder_in_the_package_is_a_command_with_the_files_and_tables_of_all(
    added: Subject, tmp_path: Path
) -> None:
    (tmp_path / "talk.txt").write_text("It was the best of times\nit was the worst\n")
    app, written = typer.Typer(), tmp_path / "words.json"
    app.command(added.name)(added.command)
    done = CliRunner().invoke(app, [str(tmp_path / "talk.txt"), "--json", str(written)])
    assert done.exit_code == 0, done.output
    results = json.loads(written.read_text())
    assert [row["words"] for row in results["rows"]] == [6, 4]
    assert results["signature"]["corpus"] == "talk.txt"
    assert done.output.splitlines()[0] == "Words"
    assert "corpus  talk.txt" in done.output


def test_two_subjects_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two subjects are called bench"):
        subject("bench")(print)
