"""A draft model of the user's: what it must be, and that captions are the same with it."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from flows.cli.app import app
from flows.engine.translation import open_engine
from flows.settings.loading import load_settings
from flows.settings.translate import TranslateSettings
from operators.decoding.translator import SegmentState
from operators.errors import InputError, UsageError
from tests.flows.engine.segments import outputs as outputs_of
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
    settings = load_settings(
        None, {"translate": {"to": "German", "threads": 1, "max_source": 16, **given}}
    ).translate
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
    settings = TranslateSettings(
        to="German", model=str(model), threads=1, draft_model=str(model), draft_threshold=0.0
    )
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
        open_engine(TranslateSettings(to="German", model=str(pair[0]), threads=1, draft_model=str(draft)))


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
def test_a_draft_model_is_refused_with_a_method_that_does_not_use_it(method: str) -> None:
    settings = load_settings(
        None, {"translate": {"to": "German", "method": method, "draft_model": "any"}}
    ).translate
    with pytest.raises(UsageError, match=f"than {method}"):
        open_engine(settings)


def invoke(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(one) for one in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output
