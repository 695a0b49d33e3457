"""The options of `surtitle bench`: what is not given is as the product runs by default."""

import sys
from pathlib import Path
from typing import Any

import pytest

from flows.cli.app import main
from flows.measuring.plan import Plan
from flows.settings.loading import load_settings
from flows.settings.schema import Settings


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Gives the plan that the command asks for, instead of measuring it."""
    plans: list[Plan] = []
    monkeypatch.setattr("flows.measuring.bench.bench_texts", lambda _job, plan: plans.append(plan))

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


def test_the_tables_of_the_paper_measure_the_paper_and_the_product(asked: Any) -> None:
    variants = asked("--paper").variants
    assert Settings().translate in variants
    papers = [one for one in variants if one.method == "ssbd" and one != Settings().translate]
    assert len(papers) == 9
    assert all(one.commit == 0 and one.final_bias == one.bias for one in papers)


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
def test_a_bias_beside_rules_that_take_none_is_said_to_have_no_effect(
    asked: Any, varied: list[str], sentence: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    asked(*(word for one in varied for word in ("--vary", one)))
    stderr = capsys.readouterr().err
    assert (sentence in stderr and len(stderr.splitlines()) == 1) if sentence else not stderr


def test_values_are_those_of_their_settings_and_none_is_no_value(asked: Any) -> None:
    plan = asked("--vary", "translate.block=auto,8", "--vary", "method=recycle", "--vary", "glossary=none")
    assert [(one.block, one.glossary) for one in plan.variants] == [(None, None)] * 2 + [(8, None)]
    assert asked("--vary", "display.mask_k=0,3").masks == (0, 3)
