"""The options of `surtitle bench`: what is not given is as the product runs by default."""

import sys
from pathlib import Path
from typing import Any

import pytest

from flows.cli.app import main
from flows.measuring.plan import DisplayMask, Plan
from flows.measuring.ssbd import PROTOCOL, TABLES
from flows.settings.loading import load_settings
from operators.decoding.translator import Guard


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Gives the plan that the command asks for, instead of measuring it."""
    plans: list[Plan] = []
    monkeypatch.setattr(
        "flows.measuring.bench.bench_texts", lambda _job, runs, _paper: plans.extend(one.plan for one in runs)
    )

    def ask(*options: str) -> Plan:
        to = () if "--to" in options else ("--to", "German")
        monkeypatch.setattr(sys, "argv", ["surtitle", "bench", str(tmp_path / "text.txt"), *options, *to])
        with pytest.raises(SystemExit) as end:
            main()
        assert end.value.code == 0
        return plans[-1]

    return ask


def test_with_no_options_the_product_is_measured_as_it_runs_by_default(asked: Any) -> None:
    plan = asked()
    usually = load_settings(None, {"translate": {"to": "German"}})
    baseline, product = plan.variants
    assert baseline.method == "retranslate"
    assert product == usually.translate
    display = usually.display
    assert plan.masks == (DisplayMask(display.withheld(by_model=True), display.mask),)


def test_the_tables_of_the_paper_measure_its_protocol_and_the_product(asked: Any) -> None:
    plan = asked("--paper", "--set", "translate.glossary=terms.tsv")
    own = [one for one in plan.variants if one.guards == "all"]
    papers = [one for one in plan.variants if one not in own]
    assert [(one.method, one.commit) for one in own] == [("retranslate", 0), ("ssbd", 1)]
    # Seven values of the bias, two masks in the draft, re-translation first, and continuous decoding.
    assert [one.method for one in papers] == ["retranslate", *["ssbd"] * 7, "continuous", *["ssbd"] * 2]
    assert {one.template for one in plan.variants} == {"paper"}
    for one in papers:
        assert (one.close_unfinished, one.hold_back, one.strip_punctuation) == (False, 0, False)
        assert (one.guards, one.commit, one.glossary) == ("none", 0, None)
        if one.method == "ssbd":
            assert (one.accept, one.beam, one.final_bias, one.min_block) == ("bias", 1, one.bias, 1)
    assert {mask for mask in plan.masks if mask.mask_k in (0, 5)} == {(0, "tokens"), (5, "tokens")}


@pytest.mark.parametrize(
    ("varied", "sentence"),
    [
        (["bias=0.3", "accept=utility-0.6"], "bias has no effect with accept = utility-0.6, which takes"),
        (
            ["bias=0.3", "final_bias=0.1", "method=continuous"],
            "bias and final_bias have no effect with method =",
        ),
        (["bias=0.3", "accept=bias,utility-0.6"], None),
    ],
)
def test_a_bias_with_rules_that_use_none_is_reported_to_have_no_effect(
    asked: Any, varied: list[str], sentence: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    asked(*(word for one in varied for word in ("--vary", one)))
    stderr = capsys.readouterr().err
    assert (sentence in stderr and len(stderr.splitlines()) == 1) if sentence else not stderr


def test_values_are_those_of_their_settings_and_none_is_no_value(asked: Any) -> None:
    plan = asked("--vary", "translate.block=auto,8", "--vary", "method=recycle", "--vary", "glossary=none")
    assert [(one.block, one.glossary) for one in plan.variants] == [(None, None)] * 2 + [(8, None)]
    assert asked("--vary", "display.mask_k=0,3").masks == ((0, "steady"), (3, "steady"))


def test_each_model_is_measured_in_each_language_with_its_own_references(asked: Any) -> None:
    last = asked("--to", "German,French", "--model", "base,captions", "--reference", "de=a.txt")
    assert (last.common["model"], last.common["to"]) == ("captions", "French")


def test_each_deviation_from_the_protocol_is_one_setting() -> None:
    grids = TABLES["deviations"][1:-1]
    protocol = {key: (value,) for key, value in PROTOCOL.items()}
    changed = [{key for key in protocol if grid[key] != protocol[key]} for grid in grids]
    assert all(len(keys) == 1 for keys in changed)
    assert set[str]().union(*changed) >= {"guards", "close_unfinished", "hold_back", "accept", "commit"}
    named = {grid["guards"][0] for grid in grids} - {"none"}
    assert named == set(Guard), "what is done beside the method has a line each"
