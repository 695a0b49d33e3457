"""Training for real, of a tiny model: what is learned is what llama.cpp then says."""

import gzip
import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random

import msgspec
import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from connectors.corpora import read_aligned
from connectors.gguf.file import read_gguf
from flows.cli.app import app
from flows.model import in_torch
from flows.model.in_torch import fast_dtype, torch_model
from flows.model.jobs import TrainingJob
from flows.model.train import batches as drawn_batches
from flows.model.train import subjects_of
from operators.errors import InputError
from operators.models.llama import ContextSettings, LlamaContext
from operators.models.llama_model import LlamaModel
from operators.prompts.template import TrainedPrompts, few_shot_prompt, labels_of, trained_prompts
from operators.training.fit import Fit, Schedule, losses
from operators.training.packing import IGNORED, Asked, Corpus, Rows, asked, pack
from tests.train.tiny_decoder import write_gemma, write_qwen

# peft asks transformers for what has another name in its next version.
pytestmark = pytest.mark.filterwarnings("default:.is_gradient_checkpointing. is deprecated:FutureWarning")

PAIRS = [("the house is red", "das Haus ist rot"), ("the cat", "die Katze"), ("a house", "ein Haus")]


@pytest.fixture(scope="module", params=["gemma3", "qwen2", "qwen3"])
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("model") / "tiny.gguf"
    return write_gemma(file) if request.param == "gemma3" else write_qwen(file, request.param)


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    lines = "".join(f"{source}\t{target}\n" for source, target in PAIRS)
    (tmp_path / "talk.tsv").write_text(lines)
    run("align", tmp_path / "talk.tsv", "--to", "German", "--by", "proportion", "-o", tmp_path / "aligned")
    return tmp_path / "aligned" / "talk.tsv.gz"


def run(*arguments: object, code: int = 0) -> str:
    done = CliRunner().invoke(app, ["model", *map(str, arguments)])
    assert done.exit_code == code, (done.output, done.exception)
    return done.output


def examples(path: Path) -> list[Asked]:
    with closing(LlamaModel(path)) as model:
        one = TrainedPrompts((labels_of("English", "German"),)).find("English", "German")
        prompt = few_shot_prompt(model, one)
        return [asked(prompt, source, target, is_final=True) for source, target in PAIRS]


def batches(path: Path) -> Iterator[Rows]:
    rng = Random(3)
    shown = examples(path)
    return pack((rng.choice(shown) for _ in range(10_000)), 2, 128)


def logits(path: Path, tokens: tuple[int, ...]) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    with closing(LlamaModel(path)) as model:
        settings = ContextSettings(cells=256, sequences=1, threads=1)
        with closing(LlamaContext(model, settings)) as context:
            return np.array(context.evaluate(0, tokens, 0, len(tokens)))


@pytest.mark.parametrize(
    ("features", "seconds", "chosen"),
    [
        ({"avx512_bf16"}, {torch.float32: 1.0, torch.bfloat16: 0.5}, torch.bfloat16),
        ({"avx512_bf16"}, {torch.float32: 0.5, torch.bfloat16: 1.0}, torch.float32),
        (set(), {torch.float32: 1.0}, torch.float32),  # where it is emulated it is not even tried
    ],
)
def test_the_number_type_is_the_one_in_which_a_product_is_faster(
    monkeypatch: pytest.MonkeyPatch,
    features: set[str],
    seconds: dict[torch.dtype, float],
    chosen: torch.dtype,
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(in_torch, "cpu_features", lambda: features)
    monkeypatch.setattr(in_torch, "_product_s", seconds.__getitem__)
    assert fast_dtype() is chosen


def test_the_model_in_pytorch_says_what_llama_says(path: Path) -> None:
    shown = examples(path)[0]
    tokens = (*shown.prompt, *shown.answer)
    with torch.inference_mode():
        theirs = torch_model(read_gguf(path), torch.float32)(torch.tensor([tokens])).logits[0].numpy()
    assert np.abs(theirs - logits(path, tokens)).max() < 0.02 * theirs.std()


def test_examples_in_one_row_do_not_see_each_other(path: Path) -> None:
    model = torch_model(read_gguf(path), torch.float32)
    shown = examples(path)

    def loss(rows: Rows, source_loss: float) -> tuple[float, float]:
        learned, answers = losses(model.model, model.lm_head, rows, "cpu", source_loss)
        return float(answers), float(learned - answers)

    together = next(pack([*shown, *shown], 1, sum(len(one.prompt) + len(one.answer) for one in shown)))
    alone = [next(pack([one, one], 1, len(one.prompt) + len(one.answer))) for one in shown]
    lengths = [(len(one.answer), one.source.stop - one.source.start - 1) for one in shown]
    with torch.inference_mode():
        means = list(zip(*(loss(rows, 1.0) for rows in alone), strict=True))
        for kind, found in enumerate(loss(together, 1.0)):
            tokens = [both[kind] for both in lengths]
            assert found == pytest.approx(np.average(means[kind], weights=tokens), rel=1e-4)
        assert loss(together, 0.0)[1] == 0


def test_a_source_is_learned_from_its_second_token_on(path: Path) -> None:
    shown = examples(path)
    rows = next(pack([*shown, *shown], 1, sum(len(one.prompt) + len(one.answer) for one in shown)))
    learned = rows.sources[rows.sources != IGNORED].tolist()
    assert learned == [token for one in shown for token in one.prompt[one.source][1:]]
    after = np.roll(rows.tokens, -1, axis=1)
    assert (after == rows.sources)[rows.sources != IGNORED].all()


def test_a_run_that_goes_on_learns_as_if_it_had_not_stopped(path: Path) -> None:
    def fit() -> Fit:
        model = torch_model(read_gguf(path), torch.float32)
        return Fit(model, 4, Schedule(1e-2, 150), seed=1)

    whole, losses = fit(), []
    rows = batches(path)
    whole.run(rows, 2_000, lambda step: losses.append(step.loss))
    first, again = fit(), []
    rows = batches(path)
    first.run(rows, 1_000, lambda step: again.append(step.loss))
    second = fit()
    second.resume(first.state())
    second.run(rows, 2_000, lambda step: again.append(step.loss))
    assert again == pytest.approx(losses, rel=1e-3)
    assert losses[-1] < losses[0]


def test_what_was_learned_is_what_the_assembled_model_says(path: Path, pairs: Path, tmp_path: Path) -> None:
    out = tmp_path / "adapter.gguf"
    printed = run(
        "train", path, "--pairs", pairs, "--to", "German", "-o", out, "--tokens", 60_000, "--rank", 8,
        "--rows", 2, "--rate", 1e-2, "--prefixes", 0, "--noise", 0, "--judge-every", 20_000,
    )  # fmt: skip
    assert "adapter.gguf" in printed
    made = tmp_path / "made.gguf"
    run("assemble", "--base", path, "--adapter", out, "--type", "F16", "-o", made)
    shown = examples(path)[0]
    tokens = (*shown.prompt, *shown.answer)
    said = logits(made, tokens)[len(shown.prompt) - 1 : -1].argmax(axis=1)
    assert np.mean(said == shown.answer) > 0.9
    record = json.loads((tmp_path / "adapter.gguf.json").read_text())
    assert record["data"][0]["pairs"] == len(PAIRS)
    losses = [point["loss"] for point in record["points"]]
    assert losses[-1] < losses[0] / 2
    assert (tmp_path / "adapter.gguf.state").exists()  # More tokens go on from the plateau.


def test_one_adapter_learns_several_languages(path: Path, pairs: Path, tmp_path: Path) -> None:
    spanish = [("the house is red", "la casa es roja"), ("the cat", "el gato"), ("a house", "una casa")]
    (tmp_path / "charla.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in spanish))
    run("align", tmp_path / "charla.tsv", "--to", "Spanish", "--by", "proportion", "-o", tmp_path / "aligned")
    out, made = tmp_path / "adapter.gguf", tmp_path / "made.gguf"
    run(
        "train", path, "--pairs", pairs, "--pairs", f"Spanish:{tmp_path / 'aligned' / 'charla.tsv.gz'}",
        "--to", "German", "-o", out, "--tokens", 120_000, "--rank", 8, "--rows", 2, "--rate", 1e-2,
        "--prefixes", 0, "--noise", 0,
    )  # fmt: skip
    run("assemble", "--base", path, "--adapter", out, "--type", "F16", "-o", made)
    with closing(LlamaModel(made)) as model:
        prompts = trained_prompts(model.metadata)
        assert prompts is not None
        for target, (source, translation) in (("German", PAIRS[0]), ("Spanish", spanish[0])):
            shown = asked(
                few_shot_prompt(model, prompts.find("English", target)), source, translation, is_final=True
            )
            tokens = (*shown.prompt, *shown.answer)
            said = logits(made, tokens)[len(shown.prompt) - 1 : -1].argmax(axis=1)
            assert np.mean(said == shown.answer) > 0.9, target
    data = json.loads((tmp_path / "adapter.gguf.json").read_text())["data"]
    assert [used["language"] for used in data] == [None, "Spanish"]


def test_a_run_begun_with_an_adapter_does_not_repeat_the_examples_of_the_run_that_made_it(
    path: Path, pairs: Path, tmp_path: Path
) -> None:
    (tmp_path / "adapter.gguf").write_bytes(b"made by another run")
    first = TrainingJob(model=str(path), pairs=[str(pairs)], target="German", output=tmp_path / "new.gguf")
    lessons = [(one, Corpus(read_aligned(one.path, "de"), one.share)) for one in first.lessons]
    prompts = TrainedPrompts((labels_of("English", "German"),))
    second = msgspec.structs.replace(first, begin=tmp_path / "adapter.gguf")
    with closing(LlamaModel(path)) as model:
        subjects = subjects_of(first, lessons, prompts, model)
        drawn, again, further = (
            next(drawn_batches(job, subjects, 0)).tokens.tolist() for job in (first, first, second)
        )
    assert drawn == again
    assert drawn != further


def test_the_language_of_the_captions_needs_pairs(path: Path, pairs: Path, tmp_path: Path) -> None:
    command = ["train", path, "--pairs", f"Spanish:{pairs}", "--to", "German", "-o", tmp_path / "a.gguf"]
    said = CliRunner().invoke(app, ["model", *map(str, command)])
    assert "--to German: no --pairs or --documents has translations into it" in str(said.exception)


def test_it_is_judged_by_references_and_erasure_as_it_learns(path: Path, pairs: Path, tmp_path: Path) -> None:
    (tmp_path / "en").write_text("the house is red\n")
    (tmp_path / "de").write_text("das Haus ist rot\n")
    run(
        "train", path, "--pairs", pairs, "--to", "German", "-o", tmp_path / "adapter.gguf", "--tokens", 1_500,
        "--rank", 2, "--rows", 1, "--judge-sources", tmp_path / "en", "--judge-references", tmp_path / "de",
        "--judge-every", 800,
    )  # fmt: skip
    points = json.loads((tmp_path / "adapter.gguf.json").read_text())["points"]
    assert len(points) == 2
    assert all(point["chrf"] >= 0 and point["erasure"] >= 0 for point in points)
    assert points[1]["nats"] < points[0]["nats"]


def test_judging_needs_a_reference_for_each_line(path: Path, pairs: Path, tmp_path: Path) -> None:
    (tmp_path / "en").write_text("the house is red\nthe cat\n")
    (tmp_path / "de").write_text("das Haus ist rot\n")
    command = [
        "train", path, "--pairs", pairs, "--to", "German", "-o", tmp_path / "adapter.gguf",
        "--judge-sources", tmp_path / "en", "--judge-references", tmp_path / "de",
    ]  # fmt: skip
    said = CliRunner().invoke(app, ["model", *map(str, command)])
    assert "has 2 lines" in str(said.exception)


def test_a_run_is_extended_from_its_plateau_and_a_stopped_branch_goes_on(
    path: Path, pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "adapter.gguf"

    def arguments(tokens: int) -> list[object]:
        return [
            "train", path, "--pairs", pairs, "--to", "German", "-o", out, "--tokens", tokens, "--rank", 2,
            "--rows", 1, "--branch-every", 2_000, "--decay", 0.5, "--judge-every", 500,
        ]  # fmt: skip

    def points() -> list[dict[str, float]]:
        found: list[dict[str, float]] = json.loads((tmp_path / "adapter.gguf.json").read_text())["points"]
        return found

    run(*arguments(2_000))
    assert [round(point["tokens"], -3) for point in points() if point["decayed"]] == [2_000]
    assert not (tmp_path / "adapter.gguf.branch").exists()
    judged = len(points())

    # The rate falls again, and at its end the machine is switched off.
    with monkeypatch.context() as patch:
        patch.setattr(Fit, "adapter", lambda _fit: exit(1))
        CliRunner().invoke(app, ["model", *map(str, arguments(4_000))])
    assert (tmp_path / "adapter.gguf.branch").exists()
    # What was learned while the rate fell is not in the second leg: it begins before the end of the first.
    assert points()[judged]["tokens"] < 2_000
    first = out.read_bytes()
    run(*arguments(4_000))
    assert out.read_bytes() != first
    assert [round(point["tokens"], -3) for point in points() if point["decayed"]][-1] == 4_000
    assert "raise --tokens to go on" in run(*arguments(4_000))


def test_another_run_s_state_is_not_gone_on_with(path: Path, pairs: Path, tmp_path: Path) -> None:
    out = tmp_path / "adapter.gguf"
    arguments = ["train", path, "--pairs", pairs, "--to", "German", "-o", out, "--tokens", 300, "--rows", 1]
    run(*arguments, "--rank", 2)
    state = tmp_path / "adapter.gguf.state"
    state.write_bytes(Fit(torch_model(read_gguf(path)), 2, Schedule(1e-3, 9), seed=1).state())
    in_order = ["--documents" if one == "--pairs" else one for one in arguments]
    for other in ([*arguments, "--rank", "4"], [*in_order, "--rank", "2"]):
        said = CliRunner().invoke(app, ["model", *map(str, other)])
        assert "other settings or data" in str(said.exception)


def test_a_damaged_state_is_refused_in_a_sentence(path: Path, pairs: Path, tmp_path: Path) -> None:
    out = tmp_path / "adapter.gguf"
    arguments = ["train", path, "--pairs", pairs, "--to", "German", "-o", out, "--tokens", 300, "--rows", 1]
    run(*arguments, "--rank", 2)
    whole = Fit(torch_model(read_gguf(path)), 2, Schedule(1e-3, 9), seed=1).state()
    for damaged in (b"", b"not a state", whole[: len(whole) // 2]):
        (tmp_path / "adapter.gguf.state").write_bytes(damaged)
        said = CliRunner().invoke(app, ["model", *map(str, arguments), "--rank", "2"])
        assert isinstance(said.exception, InputError)
        assert "adapter.gguf.state: it is damaged; remove it" in str(said.exception)


def test_a_state_that_cannot_be_written_ends_the_run_in_a_sentence(
    path: Path, pairs: Path, tmp_path: Path
) -> None:
    out = tmp_path / "adapter.gguf"
    command = [
        Path(sys.executable).with_name("surtitle"), "model", "train", path, "--pairs", pairs,
        "--to", "German", "-o", out, "--tokens", 300, "--rows", 1, "--rank", 2,
    ]  # fmt: skip
    # No file may become larger than a block, as on a disk that is full.
    shell = f"ulimit -f 1 && {shlex.join(map(str, command))}"
    ended = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=False)
    assert ended.returncode == 4
    assert "adapter.gguf.state cannot be written: File too large" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_pairs_without_the_table_of_their_prefixes_are_refused(path: Path, tmp_path: Path) -> None:
    talk = tmp_path / "talk.tsv.gz"
    talk.write_bytes(gzip.compress(b"the house\tdas Haus\n"))
    said = CliRunner().invoke(
        app,
        ["model", "train", str(path), "--pairs", str(talk), "--to", "German", "-o", str(tmp_path / "a.gguf")],
    )
    assert "surtitle model align" in str(said.exception) or "table of their prefixes" in str(said.exception)
