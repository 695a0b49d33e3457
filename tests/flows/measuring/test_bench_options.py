"""The options of `surtitle bench`: what is not given is as the product runs by default."""

import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
import typer

from flows.cli.app import app, main
from flows.measuring.methods.command import Plan
from flows.settings.loading import load_settings
from flows.settings.schema import Settings


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Gives the plan that the command asks for, instead of measuring it."""
    plans: list[Plan] = []
    monkeypatch.setattr("flows.measuring.methods.run.benchmark", lambda _job, plan: plans.append(plan))

    def ask(*options: str) -> Plan:
        monkeypatch.setattr(sys, "argv", ["surtitle", "bench", str(tmp_path / "text.txt"), *options])
        with pytest.raises(SystemExit) as end:
            main()
        assert end.value.code == 0
        return plans[-1]

    return ask


def test_with_no_options_the_product_is_measured_as_it_runs_by_default(asked: Any) -> None:
    plan = asked()
    usually = load_settings(None)
    baseline, product = plan.variants
    assert baseline.method == "retranslate"
    assert product == usually.translate
    assert plan.masks == (usually.display.withheld(usually.translate.direction),)


def test_help_calls_default_what_the_settings_call_so() -> None:
    command: Any = typer.main.get_command(app)
    options = {one.name.removesuffix("_"): one for one in command.commands["bench"].params}
    settings = Settings()
    usually = {
        key: f"{value:g}" if isinstance(value, float) else str(value)
        for stage in (settings.translate, settings.display)
        for key, value in msgspec.to_builtins(stage).items()
        if key in options and value is not None and not isinstance(value, bool)
    }
    assert {"commit", "accept", "to", "from", "sure"} <= usually.keys()
    shown = {key: options[key].default or options[key].show_default for key in usually}
    assert shown == usually


def test_switches_add_a_run_to_that_of_the_product(asked: Any) -> None:
    variants = asked("--drop-revised").variants[1:]
    assert [one.drop_revised for one in variants] == [False, True]
    variants = asked("--strip-punctuation").variants
    assert [(one.method, one.strip_punctuation) for one in variants] == [
        ("retranslate", False), ("retranslate", True), ("ssbd", False), ("ssbd", True)
    ]  # fmt: skip


def test_the_tables_of_the_paper_measure_the_paper_and_the_product(asked: Any) -> None:
    variants = asked("--paper").variants
    assert Settings().translate in variants
    papers = [one for one in variants if one.method == "ssbd" and one != Settings().translate]
    assert len(papers) == 9
    assert all(one.commit == 0 and one.final_bias == one.bias for one in papers)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            ["--bias", "0.3", "--accept", "worth-0.6"],
            "bias has no effect with accept = worth-0.6, which takes",
        ),
        (
            ["--bias", "0.2", "--accept", "exact,top-2"],
            "bias has no effect with accept = exact, top-2, which",
        ),
        (
            ["--bias", "0.3", "--final-bias", "0.1", "--accept", "worth-1"],
            "bias and final_bias have no effect with accept = worth-1",
        ),
        (["--bias", "0.3", "--methods", "continuous"], "bias has no effect with method = continuous"),
        (["--bias", "0.3", "--accept", "bias,worth-0.6"], None),
        (["--accept", "worth-0.6"], None),
        (["--bias", "0.3"], None),
    ],
)
def test_a_bias_beside_rules_that_take_none_is_said_to_have_no_effect(
    asked: Any, options: list[str], sentence: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    asked(*options)
    stderr = capsys.readouterr().err
    assert (sentence in stderr and len(stderr.splitlines()) == 1) if sentence else not stderr


def test_rules_without_a_bias_are_not_crossed_with_biases_of_any_kind(asked: Any) -> None:
    options = ("--bias", "0.1,0.2", "--final-bias", "0,same", "--proposal-bias", "same")
    plan = asked(*options, "--methods", "recycle", "--accept", "worth-0.6,top-2")
    assert [one.accept for one in plan.variants[1:]] == ["worth-0.6", "top-2"]
