"""Tables and the paper's tables, on rows made by hand."""

import json
import re
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import soundfile
from rich.console import Console
from typer.testing import CliRunner

from flows.cli.app import app
from flows.measuring.paper import GRIDS, MASKS, PaperRun, paper_tables
from flows.measuring.plan import make_plan, row_settings
from flows.measuring.tables import Row, label, tables
from flows.pages.table import Table
from operators.recognizers.moonshine import bundled_model
from tests.program import ROOT
from tests.tiny_gguf import pieces, write_model

TIMES = {"verify": 5.0, "decode": 4.0, "beside": 1.0}


def row(settings: dict[str, Any], mask_k: int, **figures: Any) -> Row:
    bias = settings["bias"] or 0.0
    given = {
        **{"speedup": 1 + bias, "speedup_range": (1 + bias, 1.1 + bias), "tps_ratio": 1.5, "chrf": 30.0},
        **{"tokens_per_second": 50.0, "bleu": 9.0, "comet": None, "chrf_p": 0.04, "chrf_of_baseline": 80.0},
        **{"ne_raw": 2.0 - bias, "ne_shown": 1.0, "ne_raw_mean": 2.0 - bias, "ne_shown_mean": 0.5},
        **{"accepted_over_drafted": 0.9, "accepted_over_output": bias, "passes": 3, "passes_per_token": 0.3},
        **{"ms_per_update": {"p50": 10.0, "p95": 20.0}, "updates": 4, "final_accepted_over_drafted": 0.5},
        **{"ms_of_final": TIMES, "ms_of_partial": TIMES},
        **{
            "chrf_of_baseline_partials": 70.0,
            "chrf_of_final_prefix": 60.0,
            "unsupported": 0.25,
            "cut": 0.02,
            "proposed_over_output": 0.2,
            "taken_over_output": 0.1,
            "passes_saved": 3.5,
            "speedup_simulated": 3.0,
            "nats_of_finals": None,
            "terms": None,
        },
    }
    return {"settings": {**settings, "mask_k": mask_k}, "metrics": {**given, **figures}}


def rows(**figures: Any) -> list[Row]:
    plan = make_plan({}, [{}, *GRIDS])
    return [row(row_settings(one), mask, **figures) for one, mask in product(plan.variants, plan.masks)]


def made(*, target: str = "German", corpus: str = "a.txt|updates:3-words", **figures: Any) -> PaperRun:
    """A run of the paper's tables."""
    signature: dict[str, Any] = {"model": {"file": "model.gguf"}, "corpus": corpus, "tokenizer": "13a"}
    signature["knows_unfinished"] = False
    return PaperRun(rows(**figures), signature, "English", target)


RECORDED = "talk.jsonl|updates:recorded"


def lines(table: Table) -> dict[str, tuple[str, ...]]:
    """The cells of each line; those of a language are named after it."""
    named, pair = {}, ""
    for name, *cells in table.rows:
        pair = name if "→" in name else pair
        if name != pair:
            named[f"{pair} {name}".strip()] = tuple(cells)
    return named


def test_tables_2_and_6_have_the_papers_lines_with_our_own_cells_before_the_papers() -> None:
    table, *_, other = paper_tables(made())
    ours, theirs = lines(table), lines(other)
    assert (
        [*ours]
        == [*theirs]
        == [f"en→{to} {method}" for to in ("de", "zh", "ja") for method in ("RT", "SSBD")]
    )
    assert table.columns == ("", *("COMET", "NE", "A/D", "A/O", "TPS", "×") * 3)
    assert table.groups == (("here", 6), ("Tower+ 2B", 6), ("Qwen3 4B", 6))
    assert ours["en→de SSBD"] == (
        "–", "0.50", "90.0", "20.0", "50", "1.50",
        "0.877", "0.77", "79.0", "63.1", "101", "1.69", "0.843", "0.82", "74.7", "58.9", "74", "1.53",
    )  # fmt: skip
    assert ours["en→de RT"][6:12] == ("0.877", "1.17", "", "", "60", "1.00")
    assert ours["en→ja SSBD"][:6] == ("–",) * 6
    assert theirs["en→zh SSBD"][6:] == (
        "0.824", "1.71", "74.5", "53.8", "84", "1.42", "0.833", "1.84", "67.5", "48.5", "59", "1.28"
    )  # fmt: skip


def test_what_a_recogniser_said_fills_table_6_and_not_table_2() -> None:
    table, *_, other = paper_tables(made(corpus=RECORDED, target="Japanese"))
    assert lines(table)["en→ja SSBD"][:6] == ("–",) * 6
    assert lines(other)["en→ja SSBD"][1:6] == ("0.50", "90.0", "20.0", "50", "1.50")


def test_a_language_that_the_paper_has_not_gets_lines_of_its_own() -> None:
    table = paper_tables(made(target="French"))[0]
    assert lines(table)["en→fr SSBD"] == ("–", "0.50", "90.0", "20.0", "50", "1.50", *[""] * 12)


def test_tables_3_and_4_have_the_papers_lines_and_figures() -> None:
    _, biases, masks, _ = paper_tables(made(comet=0.81234))
    assert [*lines(biases)] == ["RT", "0", "0.1", "0.2", "0.3", "0.4", "0.5", "1", "CD"]
    assert lines(biases)["0.3"] == (
        "0.812", "0.50", "90.0", "30.0", "1.50", "1.30", "30.0", "0.870", "0.83", "77.3", "61.4", "1.58"
    )  # fmt: skip
    assert {lines(biases)[name][7:] for name in ("0.5", "1", "CD")} == {
        ("0.742", "0.00", "100", "77.5", "2.10")
    }
    assert [*lines(masks)] == [
        "no mask", *(f"mask-{k} in the draft" for k in MASKS), *(f"display-only mask-{k}" for k in MASKS),
    ]  # fmt: skip
    assert lines(masks)["mask-5 in the draft"][7:] == ("0.881", "0.34", "84.5", "47.2", "1.39")


def test_a_line_below_says_in_which_tokens_erasure_is_counted() -> None:
    run = made()
    assert any("tokens of 13a" in line for line in run.closing())
    flores = run._replace(signature={**run.signature, "tokenizer": "flores101"})
    assert not any("tokens of" in line for line in flores.closing()[:-2])


@pytest.mark.parametrize("corpus", ["a.txt|updates:3-words", RECORDED])
def test_the_tables_fit_a_terminal_of_100_columns_with_each_group_over_its_columns(corpus: str) -> None:
    run = made(corpus=corpus, comet=0.8, tokens_per_second=987.0, accepted_over_drafted=1.0)
    for table in paper_tables(run):
        console = Console(width=100, record=True, force_terminal=False)
        with console.capture() as printed:
            console.print(table.rich())
        heading, columns, *cells = printed.get().splitlines()
        assert len(cells) == len(table.rows)
        assert max(map(len, (heading, columns, *cells))) <= 100
        starts = [place for place in range(len(columns)) if columns.startswith("COMET", place)]
        assert [heading.index(name) for name, _ in table.groups] == starts


PARTIALS = ROOT / "tests" / "samples" / "partials.jsonl"
KEPT: dict[str, list[str]] = json.loads(Path(__file__).with_name("kept.json").read_text())

#: A short run of each, with the options that add fields or columns.
COMMANDS = {
    "bench": "text.txt --reference text.txt --vary draft_model=none,{draft} --likelihood --repeat 1 {model}",
    "bench --paper": "text.txt --paper --repeat 1 --markdown out.md {model}",
    "bench-speech": "talk.wav --reference manifest.jsonl --bias 0.2 --certainty 0.7",
    "bench-drafts": "text.txt --draft-model {draft} --lengths 4 --thresholds 0.4 --ratio 8.8 {model}",
    "loadgen": "{partials} --rooms 1 --seconds 0.5 {model}",
}


def printed(text: str) -> list[str]:
    """Titles, columns and notes, without figures, which differ, and the signature, which the JSON has."""
    tables = text[: text.index(f"{'surtitle':>17}  ")]
    lines = [re.sub(r"\d[\d.]*", "0", line).split() for line in tables.splitlines()]
    return [" ".join(words) for words in lines if words and words.count("0") < 3]


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
def test_a_command_keeps_the_columns_of_its_tables(named: str, folder: Path) -> None:
    command, _, _ = named.partition(" ")
    arguments = COMMANDS[named].format(
        partials=PARTIALS,
        draft=folder / "draft.gguf",
        model=f"--model {folder / 'model.gguf'} --set translate.threads=1",
    )
    result = CliRunner().invoke(
        app, [command, *arguments.split(), "--json", "out.json"], catch_exceptions=False
    )
    assert result.exit_code == 0, result.output
    assert json.loads((folder / "out.json").read_text())["signature"]
    assert printed(result.stdout.replace(str(folder), ".")) == KEPT[named]


def test_speed_has_a_line_for_each_run_and_quality_one_for_each_mask_too() -> None:
    speed, times, passes, quality, partials = tables(rows())
    assert len(speed.rows) == len(make_plan({}, [{}, *GRIDS]).variants)
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
    grid = dict[str, Any](
        method=("ssbd",),
        bias=(0.0, 0.2),
        mask_k=(3,),
        commit=(0, 1),
        accept=("bias", "utility-0.6", "exact", "top-2"),
    )
    plan = make_plan({}, [grid, dict[str, Any](final_bias=("same",))])
    assert [label(row(row_settings(one), 3), mask=False) for one in plan.variants] == [
        "retranslate",
        "ssbd β=0 commit=0", "ssbd accept=utility-0.6 commit=0", "ssbd accept=exact commit=0",
        "ssbd accept=top-2 commit=0",
        "ssbd β=0", "ssbd accept=utility-0.6", "ssbd accept=exact", "ssbd accept=top-2",
        "ssbd β=0.2 commit=0", "ssbd β=0.2", "ssbd β=0.2 final β=0.2",
    ]  # fmt: skip
