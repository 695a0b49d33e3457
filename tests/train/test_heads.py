"""Proposal heads, trained for real on a tiny model: they foresee what it says, and change no caption."""

import json
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from connectors.models.heads import output_layer, read_heads
from flows.cli.app import app
from operators.decoding.forward import Task
from operators.models.context import ContextSettings
from operators.models.llama import LlamaContext
from operators.models.llama_model import LlamaModel
from operators.prompts.select import select_prompt
from operators.research.heads import Heads, OutputRows, StateSolver
from operators.research.many_answers import many_answers
from operators.training.heads import IGNORED, HeadsFit, fixed, loss_of, places
from operators.training.lora import load
from tests.train.tiny_decoder import HIDDEN, write_gemma

WORDS = ["the house", "a red house", "the cat", "a cat in the house", "the red cat", "is the cat red"]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_gemma(tmp_path_factory.mktemp("gemma") / "tiny.gguf")


def run(*arguments: object) -> str:
    done = CliRunner().invoke(app, [str(one) for one in arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_places_are_followed_by_what_the_answer_goes_on_with() -> None:
    states = [np.zeros((3, 2), np.float32), np.ones((1, 2), np.float32)]
    made = places(states, [[7, 8, 9], [8]], [9, 8], 2)
    assert made.states.shape == (4, 2)
    assert made.following.tolist() == [[1, 0], [0, IGNORED], [IGNORED] * 2, [IGNORED] * 2]


def test_what_the_heads_learned_is_what_they_say_in_use() -> None:
    noise = np.random.default_rng(0)
    rows = noise.normal(size=(12, 16)).astype(np.float32)
    # A text that counts; the state of each place is that of its own token, and a little noise.
    answers = [[(place + start) % 12 for place in range(12)] for start in range(12)]
    states = [rows[one] + 0.01 * noise.normal(size=(12, 16)).astype(np.float32) for one in answers]
    bias = noise.normal(size=12).astype(np.float32)
    ids = noise.permutation(12).astype(np.int32)
    learned = places(states, answers, ids.tolist(), 2)
    layer = OutputRows(ids, rows[ids], bias[ids])
    fit = HeadsFit(learned, layer, hidden=32, epochs=400, seed=1)
    losses = [loss for _ in range(400) for loss in fit.epoch()]
    assert losses[-1] < losses[0] / 10
    heads = Heads(fit.heads(), layer)
    for one, own in zip(states[0][:10], answers[0], strict=False):
        state = heads.solver.states(heads.solver.seen(rows @ one + bias))
        assert heads.after(state).tokens == [own + 1, (own + 2) % 12]


def test_the_loss_and_its_gradient_are_those_of_cross_entropy() -> None:
    noise = np.random.default_rng(1)
    matrix, bias = (noise.normal(size=size).astype(np.float32) for size in ((9000, 4), 9000))
    layer = fixed(OutputRows(np.arange(9000, dtype=np.int32), matrix, bias), torch.float32)
    states = torch.from_numpy(noise.normal(size=(300, 4)).astype(np.float32)).requires_grad_()
    following = torch.from_numpy(noise.integers(0, 9000, 300))
    following[::7] = IGNORED
    made = []
    for loss in (
        loss_of(states, layer, following),
        torch.nn.functional.cross_entropy(
            states @ layer.matrix.T + layer.bias, following, ignore_index=IGNORED
        ),
    ):
        (gradient,) = torch.autograd.grad(loss, states)
        made.append((loss.item(), gradient))
    (ours, our_gradient), (theirs, their_gradient) = made
    assert ours == pytest.approx(theirs, rel=1e-4)
    assert torch.allclose(our_gradient, their_gradient, atol=1e-6)


def test_heads_are_trained_measured_and_used(path: Path, tmp_path: Path) -> None:
    pairs, heads = tmp_path / "talk.tsv", tmp_path / "heads.gguf"
    pairs.write_text("".join(f"{text}\t{text[::-1]}\n" for text in WORDS))
    printed = run(
        "model", "heads", path, "--to", "German", "--pairs", pairs, "-o", heads, "--heads", 2,
        "--prompts", 60, "--epochs", 300,
    )  # fmt: skip
    assert "heads.gguf" in printed
    record = json.loads((tmp_path / "heads.gguf.json").read_text())
    assert record["data"][0]["name"] == "talk.tsv"
    assert record["losses"][-1] < record["losses"][0] / 1.5
    # A model of noise repeats itself, which heads learn soon.
    assert record["blocks"][1] > record["blocks"][0] > 1.5
    assert len(read_heads(heads, path)) == 2
    (tmp_path / "text.txt").write_text("the cat is red\n")
    run(
        "bench", tmp_path / "text.txt", "--to", "German", "--model", path,
        "--vary", "method=ssbd,heads", "--vary", f"heads={heads}",
        "--set", "translate.threads=1", "--repeat", 1, "--vary", "block=2", "--json", tmp_path / "bench.json",
    )  # fmt: skip
    rows = json.loads((tmp_path / "bench.json").read_text())["rows"]
    _, plain, headed = (row["metrics"] for row in rows)
    assert headed["proposed_over_output"] > 0
    assert headed["passes"] <= plain["passes"]
    assert headed["chrf_of_baseline"] == plain["chrf_of_baseline"]


def test_the_model_s_states_are_those_of_pytorch(path: Path) -> None:
    ids = np.arange(0, 350, 2, dtype=np.int32)
    solver = StateSolver(output_layer(path).rows(ids))
    with closing(LlamaModel(path)) as model:
        prompt = select_prompt(model, "auto", "English", "German")
        sources = [prompt.build(prompt.source(text), is_final=True) for text in WORDS]
        tasks = [Task(source, (), prompt.stop, 12) for source in sources]
        settings = ContextSettings(cells=1024, sequences=4, threads=1)
        with closing(LlamaContext(model, settings)) as context:
            found = dict(many_answers(context, prompt.head, tasks, solver, 3))
    body = load(path, torch.float32).model
    for number, task in enumerate(tasks):
        tokens, states = found[number]
        with torch.inference_mode():
            hidden = body(torch.tensor([[*task.prompt, *tokens]])).last_hidden_state[0].numpy()
        theirs = hidden[len(task.prompt) - 1 : -1]
        assert states.shape == theirs.shape == (len(tokens), HIDDEN)
        apart = np.linalg.norm(states - theirs, axis=1) / np.linalg.norm(theirs, axis=1)
        assert apart.max() < 0.05
