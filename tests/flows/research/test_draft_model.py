"""A draft model of the user's: what it must be, and that captions are the same with it."""

import json
from pathlib import Path

import pytest
import soundfile
from typer.testing import CliRunner

from flows.cli.app import app
from flows.engine.translation import open_engine
from flows.settings.loading import load_settings
from flows.settings.translate import TranslateSettings
from operators.decoding.translator import SegmentState
from operators.errors import InputError, UsageError
from operators.recognizers.moonshine import bundled_model
from tests.flows.engine.segments import outputs as outputs_of
from tests.operators.recognizers.whisper.model_folder import TINY_EN
from tests.tiny_gguf import CONTROL, byte_pairs, pieces, write_model
from tests.tiny_kinds import write_kind

ENDS = {"<|end|>": CONTROL}
TEXTS = ["the weather", "the weather in the hills", "the weather in the hills is the"]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two models with one vocabulary that seldom agree."""
    folder = tmp_path_factory.mktemp("pair")
    return (
        write_model(folder / "model.gguf", pieces(ENDS)),
        write_model(folder / "draft.gguf", pieces(ENDS), seed=1),
    )


def outputs(**given: object) -> list[tuple[int, ...]]:
    settings = load_settings(None, {"translate": {"threads": 1, "max_source": 16, **given}}).translate
    made = outputs_of(open_engine(settings).translator(settings), {"s": TEXTS})["s"]
    return [output.tokens for output in made]


@pytest.mark.parametrize("method", ["ssbd", pytest.param("recycle", marks=pytest.mark.long)])
def test_captions_are_those_without_a_draft_model(pair: tuple[Path, Path], method: str) -> None:
    common = {"model": str(pair[0]), "method": method, "bias": 0.2}
    plain = outputs(**common)
    for draft, tree in ((pair[0], True), (pair[1], False), (pair[1], True)):
        drafted = outputs(**common, draft_model=str(draft), draft_tree=tree, draft_threshold=0.1)
        assert drafted == plain, (draft, tree)


@pytest.mark.parametrize(("model", "draft"), [("llama", "mamba"), ("mamba", "lfm2")])
def test_models_of_any_memory_draft_for_each_other(tmp_path: Path, model: str, draft: str) -> None:
    paths = [str(write_kind(tmp_path / f"{kind}.gguf", kind)) for kind in (model, draft)]
    common = {"model": paths[0], "bias": 0.0, "commit": 0}
    drafted = outputs(**common, draft_model=paths[1], draft_tree=True, draft_threshold=0.02)
    assert drafted == outputs(**common)


def test_a_model_that_drafts_for_itself_is_loaded_once_and_saves_passes(pair: tuple[Path, Path]) -> None:
    model, _ = pair
    settings = TranslateSettings(model=str(model), threads=1, draft_model=str(model), draft_threshold=0.0)
    engine = open_engine(settings)
    assert engine.draft is not None
    assert engine.drafts is not engine.pool
    _, output = engine.translator(settings).update("s/000000", SegmentState(), TEXTS[-1], is_final=True)
    assert output.effort.taken > 0.9 * (len(output.tokens) - output.effort.passes)
    assert output.effort.draft_passes > output.effort.passes


@pytest.mark.parametrize(
    ("other", "says"),
    [
        (pieces({f"<{number}>": CONTROL for number in range(130)}), "it has 488 tokens and not 359"),
        (byte_pairs(ENDS), "its token 0 is 'Ā' and not '<unk>'"),
        (pieces({"<|stop|>": CONTROL}), r"its token 358 is '<\|stop\|>' and not '<\|end\|>'"),
    ],
)
def test_a_model_with_other_tokens_is_refused_in_one_sentence(
    tmp_path: Path, pair: tuple[Path, Path], other: object, says: str
) -> None:
    draft = write_model(tmp_path / "other.gguf", other)  # type: ignore[arg-type]  # parametrised
    with pytest.raises(InputError, match=rf"other\.gguf: .* cannot draft for model\.gguf, {says}; use"):
        open_engine(TranslateSettings(model=str(pair[0]), threads=1, draft_model=str(draft)))


@pytest.mark.parametrize("is_larger", [False, True])
def test_a_model_may_have_some_tokens_more_at_the_end_of_its_vocabulary(
    tmp_path: Path, pair: tuple[Path, Path], is_larger: bool
) -> None:
    padded = write_model(
        tmp_path / "padded.gguf", pieces({**ENDS, "<pad0>": CONTROL, "<pad1>": CONTROL}), seed=1
    )
    model, draft = (pair[0], padded) if is_larger else (padded, pair[0])
    common = {"model": str(model), "bias": 0.2}
    drafted = outputs(**common, draft_model=str(draft), draft_tree=True, draft_threshold=0.02)
    assert drafted == outputs(**common)


@pytest.mark.parametrize("method", ["jacobi", "retranslate", "continuous"])
def test_a_method_that_asks_no_draft_model_is_refused_with_one(method: str) -> None:
    settings = load_settings(None, {"translate": {"method": method, "draft_model": "any"}}).translate
    with pytest.raises(UsageError, match=f"than {method}"):
        open_engine(settings)


def invoke(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(one) for one in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.long
def test_drafting_is_measured(tmp_path: Path, pair: tuple[Path, Path]) -> None:
    model, draft = pair
    (tmp_path / "text.txt").write_text("the weather\nthe hills of the north\n")
    made = tmp_path / "made.json"
    shown = invoke(
        "bench", "--task", "drafts", tmp_path / "text.txt", "--model", model,
        "--set", f"translate.draft_model={draft}", "--set", "translate.threads=1",
        "--vary", "draft_length=4", "--vary", "draft_threshold=0.05,0.4",
        "--json", made, "--markdown", tmp_path / "made.md",
    )  # fmt: skip
    assert "What was done" in shown
    assert "of which a pass costs 8.8" in shown
    results = json.loads(made.read_text())
    steps = {row["settings"]["drafting"]: row["metrics"] for row in results["rows"]}
    assert list(steps) == [
        "plain, 4", "plain, 4, 2 beams", "adaptive, 0.05", "+ recycling, 0.05", "+ sparse tree, 0.05",
        "adaptive, 0.4", "+ recycling, 0.4", "+ sparse tree, 0.4",
    ]  # fmt: skip
    assert len({row["tokens"] for row in steps.values()}) == 1
    assert steps["adaptive, 0.4"]["draft_steps"] < steps["plain, 4"]["draft_steps"]
    assert results["signature"]["draft_model"]["file"] == "draft.gguf"
    assert results["signature"]["corpus"] == "text.txt|finals|segments:1-2"
    assert (tmp_path / "made.md").read_text().count("| plain, 4 |") == 5


@pytest.mark.long
def test_drafting_of_speech_is_measured(tmp_path: Path) -> None:
    samples, rate = soundfile.read(bundled_model().parent / "two_cities.wav", dtype="int16")
    soundfile.write(tmp_path / "talk.wav", samples[: 4 * rate], rate)
    made = tmp_path / "made.json"
    shown = invoke(
        "bench", "--task", "drafts", tmp_path / "talk.wav", "--speech-model", TINY_EN,
        "--set", f"translate.draft_model={TINY_EN}",
        "--vary", "draft_length=4", "--vary", "draft_threshold=0.4", "--limit", 1, "--json", made,
    )  # fmt: skip
    assert "encoders included" in shown
    plain, beams, *adaptive = rows = [row["metrics"] for row in json.loads(made.read_text())["rows"]]
    # It drafts for itself: all that is drafted in one sequence stands.
    assert plain["accepted"] == plain["drafted"] > 4
    assert beams["accepted"] >= plain["accepted"]
    assert {row["tokens"] for row in rows} == {plain["tokens"]}
    assert len(adaptive) == 3
    assert all(row["draft_steps"] > 0 for row in adaptive)
    assert all("measured here" in row["times"][0]["costs"] for row in rows)
