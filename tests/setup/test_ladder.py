"""Set-up ends with a build that works: what fails is left out, and said, and the next one tried."""

import io
import sys
from collections.abc import Callable
from pathlib import Path

import llama_build
import pytest
from ladder import BASELINE, BUILDS, NATIVE, NO_AMX, PORTABLE, Build, NothingWorksError, climb_down, ladder
from llama_build import NO_USE, weigh_amx
from progress import Line

from connectors.machine.trial import Failed
from operators.models.trial import LibraryTrial


def outcomes(**why: str) -> Callable[[Build], str | None]:
    return lambda build: why.get(build.name.replace("-", "_"))


def climb(
    compiles: Callable[[Build], str | None], passes: Callable[[Build], str | None]
) -> tuple[str, list[str], list[str]]:
    said: list[str] = []
    builds = ladder(forced=None, is_x86=True, may_have_amx=True)
    choice = climb_down(builds, compiles, passes, said.append)
    return choice.build.name, [one.build for one in choice.left_out], said


def test_what_works_at_once_is_kept_and_nothing_said() -> None:
    assert climb(outcomes(), outcomes()) == ("native", [], [])


def test_a_build_that_dies_is_built_again_without_amx_and_that_is_said() -> None:
    name, left_out, said = climb(outcomes(), outcomes(native="it was killed by SIGILL"))
    assert (name, left_out) == ("no-amx", ["native"])
    assert len(said) == 1
    assert "it was killed by SIGILL; building it with all that this processor has but AMX" in said[0]


def test_wrong_numbers_and_a_compiler_that_gives_up_lead_further_down() -> None:
    wrong = "the logits of a pass over 1 token are off by 12.0"
    name, left_out, said = climb(
        outcomes(no_amx="it does not compile"), outcomes(native=wrong, portable="died")
    )
    assert (name, left_out, len(said)) == ("baseline", ["native", "no-amx", "portable"], 3)


def test_no_build_is_tried_before_it_compiles() -> None:
    tried: list[str] = []

    def passes(build: Build) -> None:
        tried.append(build.name)

    climb(outcomes(native="it does not compile"), passes)
    assert tried == ["no-amx"]


def test_where_nothing_works_the_last_reason_is_told() -> None:
    with pytest.raises(NothingWorksError, match="no compiler"):
        climb_down([NATIVE, PORTABLE], lambda _build: "no compiler", lambda _build: None, lambda _text: None)


def test_only_what_makes_a_difference_is_on_the_ladder() -> None:
    assert ladder(forced=None, is_x86=True, may_have_amx=False) == (NATIVE, PORTABLE, BASELINE)
    assert ladder(forced=None, is_x86=False, may_have_amx=False) == (NATIVE, PORTABLE)


@pytest.mark.parametrize("build", BUILDS, ids=lambda build: build.name)
def test_a_build_that_is_asked_for_is_the_only_one(build: Build) -> None:
    assert ladder(forced=build.name, is_x86=True, may_have_amx=True) == (build,)


@pytest.mark.parametrize(("with_ms", "without_ms", "is_kept"), [(92.0, 179.0, True), (120.0, 110.0, False)])
def test_amx_is_kept_where_it_is_faster(with_ms: float, without_ms: float, is_kept: bool) -> None:
    asked: list[bool] = []

    def trial(without: bool) -> LibraryTrial:
        asked.append(without)
        return LibraryTrial(None, True, 10.0, without_ms if without else with_ms)

    assert (weigh_amx(trial) is None) == is_kept
    assert asked == [False, True, False, True]


def test_amx_is_kept_where_it_cannot_be_refused_to_compare() -> None:
    answers: list[LibraryTrial | Failed] = [
        LibraryTrial(None, True, 10.0, 90.0),
        Failed("no filters", is_verdict=False),
    ]
    assert weigh_amx(lambda without: answers[without]) is None


def test_amx_is_left_out_by_name_on_the_ladder_below_it() -> None:
    assert all("-DSURTITLE_WITHOUT_AMX=ON" in build.options for build in (NO_AMX, PORTABLE, BASELINE))
    assert (
        "SURTITLE_WITHOUT_AMX"
        in (Path(sys.modules["ladder"].__file__ or "").parent / "llama.cmake").read_text()
    )


@pytest.mark.parametrize(
    ("has_amx", "features", "forced", "why"),
    [
        (True, {"avx512f"}, False, NO_USE),
        (True, {"avx512f"}, True, None),
        (False, {"amx_int8"}, False, None),
    ],
)
def test_amx_that_the_compiler_was_told_of_is_left_out_where_the_processor_has_none(
    monkeypatch: pytest.MonkeyPatch, has_amx: bool, features: set[str], forced: bool, why: str | None
) -> None:
    tried = LibraryTrial(single_ms=1.0, verify_ms=2.0, wrong=None, has_amx=has_amx)
    monkeypatch.setattr(llama_build, "try_library", lambda: tried)
    monkeypatch.setattr(llama_build, "cpu_features", lambda: features)
    monkeypatch.setattr(llama_build, "library_folder", lambda: None)
    assert llama_build.passes(forced, Line(io.StringIO())) == why
