"""Tables and the paper's tables, on rows made by hand."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from flows.cli.app import app
from flows.measuring.bench import joined
from flows.measuring.measured import MeasuredRun
from flows.measuring.plan import DisplayMask, make_plan, row_settings
from flows.measuring.results import Row
from flows.measuring.scores import MethodUpdate, SegmentTrial
from flows.measuring.ssbd import USUAL_TABLES, grids_of, paper_tables
from flows.measuring.tables import label
from flows.pages.table import Table
from operators.events import Effort
from tests.tiny_gguf import pieces, write_model

TIMES = {"verify": 5.0, "decode": 4.0, "beside": 1.0}
METRICS: dict[str, Any] = {
    "tps_ratio": 1.5, "tps_ratio_range": (1.4, 1.6),
    "chrf": 30.0, "tokens_per_second": 50.0, "bleu": 9.0, "comet": None, "chrf_p": 0.04,
    "chrf_of_baseline": 80.0, "ne_shown": 1.0, "ne_shown_mean": 0.5, "accepted_over_drafted": 0.9,
    "passes": 3, "passes_per_token": 0.3, "ms_per_update": {"p50": 10.0, "p95": 20.0}, "updates": 4,
    "final_accepted_over_drafted": 0.5, "ms_of_final": TIMES, "ms_of_partial": TIMES,
    "chrf_of_baseline_partials": 70.0, "chrf_of_final_prefix": 60.0, "unsupported": 0.25, "cut": 0.02,
    "proposed_over_output": 0.2, "taken_over_output": 0.1, "passes_saved": 3.5, "speedup_simulated": 3.0,
    "nats_of_finals": None, "terms": None, "wer": None,
}  # fmt: skip


def row(settings: dict[str, Any], mask: DisplayMask, **figures: Any) -> Row:
    bias = settings["bias"] or 0.0
    own = {"speedup": 1 + bias, "speedup_range": (1 + bias, 1.1 + bias), "accepted_over_output": bias}
    own |= dict.fromkeys(("ne_raw", "ne_raw_mean"), 2.0 - bias)
    return {"settings": {**settings, **mask._asdict()}, "metrics": {**METRICS, **own, **figures}}


def made(*, target: str = "German", corpus: str = "a.txt|updates:3-words", **figures: Any) -> MeasuredRun:
    signature: dict[str, Any] = {"model": {"file": "model.gguf"}, "corpus": corpus, "tokenizer": "13a"}
    plan = make_plan({"to": target}, [*grids_of(USUAL_TABLES), {}])
    rows = [row(row_settings(one), mask, **figures) for one, mask in product(plan.variants, plan.masks)]
    return MeasuredRun(plan, rows, signature)


def lines(table: Table) -> dict[str, tuple[str, ...]]:
    """The cells of each line; those of a language are named after it."""
    named, pair = {}, ""
    for name, *cells in table.rows:
        pair = name if "→" in name else pair
        if name != pair:
            named[f"{pair} {name}".strip()] = tuple(cells)
    return named


def test_table_2_has_each_model_above_the_papers_lines_for_its_languages() -> None:
    (table,) = paper_tables([made(), made(target="Japanese"), made(target="French")], ["2", "6"])
    assert table.columns == ("", "COMET", "NE", "A/D", "A/O", "TPS", "×", "range", "chrF")
    found = lines(table)
    theirs = [f"the paper: {model}, {way}" for model in ("Tower+ 2B", "Qwen3 4B") for way in ("RT", "SSBD")]
    own = ["model.gguf, RT", "model.gguf, SSBD"]
    assert [*found] == [
        f"en→{code} {name}"
        for code, names in {"de": own + theirs, "zh": theirs, "ja": own + theirs, "fr": own}.items()
        for name in names
    ]
    assert found["en→de model.gguf, SSBD"] == (
        "–", "0.50", "90.0", "20.0", "50", "1.50", "1.40–1.60", "30.0"
    )  # fmt: skip
    assert found["en→de the paper: Qwen3 4B, SSBD"][:6] == ("0.843", "0.82", "74.7", "58.9", "74", "1.53")
    assert "--tokenizer flores101" in table.notes[-3]


def test_recorded_partials_fill_table_6_and_not_table_2() -> None:
    (table,) = paper_tables([made(corpus="talk.jsonl|updates:recorded", target="Chinese")], ["2", "6"])
    assert table.title.startswith("Table 6")
    found = lines(table)
    assert found["en→zh the paper: Tower+ 2B, SSBD"][:6] == ("0.824", "1.71", "74.5", "53.8", "84", "1.42")


def test_tables_3_and_4_have_the_papers_lines_and_figures() -> None:
    biases, masks = paper_tables([made(comet=0.81234)], ["3", "4"])
    assert [*lines(biases)] == ["RT", "0", "0.1", "0.2", "0.3", "0.4", "0.5", "1"]
    assert lines(biases)["0.3"] == (
        "0.812", "0.50", "90.0", "30.0", "1.50", "1.30", "30.0", "0.870", "0.83", "77.3", "61.4", "1.58"
    )  # fmt: skip
    assert {lines(biases)[name][7:] for name in ("0.5", "1")} == {("0.742", "0.00", "100", "77.5", "2.10")}
    assert lines(masks)["mask-5 in the draft"][7:] == ("0.881", "0.34", "84.5", "47.2", "1.39")
    # Continuous decoding verifies nothing, so it is faster than a bias that accepts everything.
    assert lines(masks)["CD"][7:] == ("0.742", "0.00", "100", "77.5", "2.60")


def test_the_signature_of_several_runs_lists_their_differences() -> None:
    first, second = made(), made(target="French")
    second = second._replace(signature={**second.signature, "model_to_english": {"file": "first.gguf"}})
    for runs in ((first, second), (second, first)):
        results = joined(runs, [{}, {}], None)
        assert results.signature["tokenizer"] == "13a"
        assert [one["to"] for one in results.signature["runs"]] == [run.target for run in runs]
        assert ["model_to_english" in one for one in results.signature["runs"]] == [
            run is second for run in runs
        ]
        assert {row["settings"]["to"] for row in results.rows} == {"German", "French"}


def test_a_case_marks_the_words_that_replace_others() -> None:
    run, said = made(), {"a": "Das ist", "b": "Das war gut", "c": "Das war gut."}
    run = run._replace(plan=make_plan({"to": "German"}, [*grids_of(["7"])]))

    def updates(texts: list[str]) -> tuple[MethodUpdate, ...]:
        return tuple(MethodUpdate(1, text, (), Effort()) for text in texts)

    changing, steady = updates([*said.values()]), updates(["Das"] * 3)
    trials = [SegmentTrial(0, 0, (steady,) * 3), SegmentTrial(0, 1, (changing, steady, steady))]
    run = run._replace(trials=trials, sources=[("x",) * 3, ("It", "It was", "It was good")])
    (table,) = paper_tables([run], ["7"])
    assert table.columns == ("speech", "RT", "SSBD, β = 0.2", "SSBD, β = 0.5")
    assert table.rows == (
        ("It", "Das ist", "Das", "Das"),
        ("… was", "Das **war gut**", "Das", "Das"),
        ("… good", "Das war **gut.**", "Das", "Das"),
    )


#: A short run of each command, with the options that add columns, and words of its tables.
COMMANDS = [
    (
        "bench text.txt --to de --reference text.txt --vary draft_model=none,{draft} --likelihood --repeat 1 "
        "{model}",
        ("speedup", "ms/update p50", "draft model: passes/token", "nats", "chrF to RT", "NE raw"),
    ),
    (
        "bench text.txt --to German --paper --repeat 1 --markdown out.md {model}",
        ("Table 2: ", "Table 3: ", "Table 4: ", "en→de", "zeng2026v2", "surtitle as it runs by default"),
    ),
    (
        "bench --task drafts text.txt --to de --set translate.draft_model={draft} --vary draft_length=4 "
        "--vary draft_threshold=0.4 {model}",
        (
            "plain, 4, 2 beams",
            "+ sparse tree, 0.4",
            "accepted/round",
            "a pass costs 8.8",
            "SpecASR, figure 11: speedup 2.08–2.60",
            "Rank of the true token",
            "over the first row",
        ),
    ),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for seed, name in enumerate(("model", "draft")):
        write_model(tmp_path / f"{name}.gguf", pieces({}), seed=seed)
    (tmp_path / "text.txt").write_text("the weather\n")
    return tmp_path


@pytest.mark.parametrize(("command", "said"), COMMANDS)
def test_a_command_prints_its_tables_and_writes_their_rows(
    command: str, said: tuple[str, ...], folder: Path
) -> None:
    model = f"--model {folder / 'model.gguf'} --set translate.threads=1"
    arguments = command.format(draft=folder / "draft.gguf", model=model)
    result = CliRunner().invoke(app, [*arguments.split(), "--json", "out.json"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert [words for words in said if words not in result.stdout] == []
    written = json.loads((folder / "out.json").read_text())
    assert written["signature"]["surtitle"]
    assert all(row.keys() == {"settings", "metrics"} for row in written["rows"])


def test_a_label_has_the_bias_and_what_is_not_as_the_product_runs_by_default() -> None:
    grid = dict[str, Any](
        method=("ssbd",),
        bias=(0.0, 0.2),
        mask_k=(3,),
        commit=(0, 1),
        accept=("bias", "utility-0.6", "exact", "top-2"),
    )
    plan = make_plan({"to": "German"}, [grid, dict[str, Any](final_bias=("same",))])
    assert [label(row(row_settings(one), DisplayMask(3)), mask=False) for one in plan.variants] == [
        "retranslate",
        "ssbd β=0 commit=0", "ssbd accept=utility-0.6 commit=0", "ssbd accept=exact commit=0",
        "ssbd accept=top-2 commit=0",
        "ssbd β=0", "ssbd accept=utility-0.6", "ssbd accept=exact", "ssbd accept=top-2",
        "ssbd β=0.2 commit=0", "ssbd β=0.2", "ssbd β=0.2 final β=0.2",
    ]  # fmt: skip
