"""Proposal heads of the user's: captions are the same with them, and a wrong choice is refused at once."""

import json
from pathlib import Path
from typing import Any

import pytest

from flows.engine.translation import open_engine
from flows.settings.loading import load_settings
from flows.settings.translate import TranslateSettings
from operators.errors import UsageError
from tests.flows.engine.segments import outputs as outputs_of
from tests.flows.research.test_draft_model import invoke
from tests.tiny_firefox import write_tiny_firefox
from tests.tiny_gguf import pieces, write_model
from tests.tiny_heads import write_heads

TEXTS = ["the weather", "the weather in the", "the weather in the hills", "the weather in the hills is the"]


@pytest.fixture(scope="module", params=["gguf", "firefox"])
def files(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("heads")
    if request.param == "gguf":
        model = write_model(folder / "model.gguf", pieces({}))
    else:
        model = write_tiny_firefox(folder / "model")
    return model, write_heads(folder / "heads.gguf", model)


def outputs(settings: TranslateSettings) -> tuple[list[tuple[int, ...]], int]:
    made = outputs_of(open_engine(settings).translator(settings), {"s": TEXTS})["s"]
    return [output.tokens for output in made], sum(output.effort.proposed for output in made)


@pytest.mark.parametrize("bias", [0.0, 0.2])
def test_captions_are_those_without_heads(files: tuple[Path, Path], bias: float) -> None:
    model, heads = files
    common = {"model": str(model), "threads": 1, "max_source": 16, "bias": bias, "block": 2, "sure": 0.0}
    plain = load_settings(None, {"translate": {"to": "German", **common, "method": "ssbd"}}).translate
    headed = load_settings(
        None, {"translate": {"to": "German", **common, "method": "heads", "heads": str(heads)}}
    ).translate
    (want, none), (got, some) = outputs(plain), outputs(headed)
    assert got == want
    assert (none, some > 0) == (0, True)


def test_proposals_are_accepted_if_their_embeddings_are_near_those_of_the_models_choices(
    files: tuple[Path, Path],
) -> None:
    model, heads = files
    common: dict[str, Any] = {
        "model": str(model), "threads": 1, "max_source": 16, "block": 2, "sure": 0.0, "bias": 0.0,
        "method": "heads", "heads": str(heads),
    }  # fmt: skip
    made = [
        outputs(TranslateSettings(to="German", **common, proposal_accept=f"near-{far}")) for far in (0, 2)
    ]
    assert made[0] != made[1]


@pytest.mark.parametrize(
    ("given", "says"),
    [({"method": "heads"}, "translate.heads"), ({"method": "ssbd", "heads": "any.gguf"}, "instead of ssbd")],
)
def test_heads_and_their_method_need_each_other(given: dict[str, str], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        open_engine(load_settings(None, {"translate": {"to": "German", **given}}).translate)


def test_a_benchmark_has_a_row_with_heads(
    tmp_path: Path, files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    model, heads = files
    (tmp_path / "text.txt").write_text("the weather in the hills\n")
    given = (
        "bench",
        tmp_path / "text.txt",
        "--to",
        "de",
        "--model",
        model,
        "--set",
        "translate.threads=1",
        "--repeat",
        1,
    )
    varied = (
        "--vary",
        "block=2",
        "--vary",
        "method=ssbd,heads",
        "--vary",
        f"heads={heads}",
        "--vary",
        "sure=0",
    )
    invoke(*given, *varied, "--json", tmp_path / "bench.json")
    results = json.loads((tmp_path / "bench.json").read_text())
    rows = {row["settings"]["method"]: row for row in results["rows"]}
    assert rows["heads"]["settings"]["heads"] == str(heads)
    proposed = [rows[name]["metrics"]["proposed_over_output"] for name in ("heads", "ssbd")]
    assert proposed[0] > 0 == proposed[1]
    assert results["signature"]["heads"]["file"] == "heads.gguf"
    with pytest.raises(UsageError, match="add --vary method=heads"):
        invoke(*given, "--vary", f"heads={heads}")
    with pytest.raises(UsageError, match=r"name their file with translate\.heads"):
        invoke(*given, "--vary", "method=heads")
    mixed = ("method=ssbd,heads", f"heads={heads}", f"draft_model={model}")
    with pytest.raises(UsageError, match="in two separate runs"):
        invoke(*given, *(word for one in mixed for word in ("--vary", one)))
