"""Training for real, of a tiny model: what is learned is what llama.cpp then says."""

import json
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import Trainer
from typer.testing import CliRunner

from flows.cli.app import app
from operators.models.llama_model import LlamaModel
from operators.prompts.template import TrainedPrompts, few_shot_prompt, labels_of
from operators.training.examples import Example, Tokens, asked
from operators.training.lora import batch_of, load, loss_of
from tests.adapters import logits
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
    return tmp_path / "talk.tsv"


def run(*arguments: object) -> str:
    done = CliRunner().invoke(app, ["model", *map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def examples(path: Path) -> list[Tokens]:
    prompts = TrainedPrompts((labels_of("English", "German"),))
    with closing(LlamaModel(path)) as model:
        prompt = few_shot_prompt(model, prompts.find("English", "German"))
        return [asked(prompt, Example(*pair, is_final=True)) for pair in PAIRS]


def test_the_model_in_pytorch_says_what_llama_says(path: Path) -> None:
    shown = examples(path)[0]
    tokens = (*shown.prompt, *shown.answer)
    with torch.inference_mode():
        theirs = load(path, torch.float32)(torch.tensor([tokens])).logits[0].numpy()
    assert np.abs(theirs - logits(path, tokens)).max() < 0.02 * theirs.std()


def test_a_batch_costs_what_its_examples_cost_alone(path: Path) -> None:
    model, shown = load(path, torch.float32), examples(path)
    with torch.inference_mode():
        alone = [float(loss_of(model, batch_of([one]))) for one in shown]
        together = float(loss_of(model, batch_of(shown)))
    assert together == pytest.approx(np.average(alone, weights=[len(one.answer) for one in shown]), rel=1e-4)


def test_what_was_learned_is_what_the_assembled_model_says(path: Path, pairs: Path, tmp_path: Path) -> None:
    out, made = tmp_path / "adapter.gguf", tmp_path / "made.gguf"
    printed = run(
        "train", path, "--pairs", pairs, "--to", "German", "-o", out, "--epochs", 400, "--rank", 8,
        "--rate", 1e-2, "--prefixes", 0,
    )  # fmt: skip
    assert "adapter.gguf" in printed
    run("assemble", "--base", path, "--adapter", out, "-o", made)
    shown = examples(path)[0]
    tokens = (*shown.prompt, *shown.answer)
    said = logits(made, tokens)[len(shown.prompt) - 1 : -1].argmax(axis=1)
    assert np.mean(said == shown.answer) > 0.9
    record = json.loads((tmp_path / "adapter.gguf.json").read_text())
    assert record["pairs"] == len(PAIRS)
    assert record["losses"][-1] < record["losses"][0] / 2
    assert not list(tmp_path.glob("*.state"))


def test_a_run_that_goes_on_learns_as_if_it_had_not_stopped(
    pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_gemma(tmp_path / "tiny.gguf")
    whole, stopped = tmp_path / "whole" / "adapter.gguf", tmp_path / "stopped" / "adapter.gguf"

    def command(out: Path) -> list[object]:
        out.parent.mkdir(exist_ok=True)
        return ["train", path, "--pairs", pairs, "--to", "German", "-o", out, "--epochs", 1400, "--rank", 2]

    run(*command(whole))
    saved = Trainer._save_checkpoint

    def switched_off(self: Trainer, *given: object, **more: object) -> None:
        saved(self, *given, **more)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "_save_checkpoint", switched_off)
        CliRunner().invoke(app, ["model", *map(str, command(stopped))])
    assert list(stopped.parent.glob("*.state/checkpoint-500"))
    assert not stopped.exists()
    run(*command(stopped))
    records = [json.loads(Path(f"{out}.json").read_text()) for out in (whole, stopped)]
    assert records[0]["losses"] == pytest.approx(records[1]["losses"], rel=1e-2)
