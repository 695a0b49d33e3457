"""Firefox's decoder in PyTorch is the one in use, and learns what follows together with its heads."""

import json
import shutil
from contextlib import chdir
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from connectors.models.heads import output_layer, read_heads
from flows.cli.app import app
from operators.research.heads import Head
from operators.seq2seq.firefox import FirefoxModel
from operators.training.ssru import Sentence, SsruDecoder, TunedFit
from tests.tiny_firefox import TARGET, Measures, write_tiny_firefox
from tests.tiny_gguf import pieces, write_model

SAID = [20, 4, 9, 13, 9, 0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_firefox(tmp_path_factory.mktemp("firefox") / "model")


def sentence(model: FirefoxModel) -> Sentence:
    return Sentence(model.read([5, 6, 7, 8, 0]).states, SAID)


def logits(model: FirefoxModel) -> np.ndarray:
    """Those from which each token is chosen, without those of the unknown token."""
    read = model.read([5, 6, 7, 8, 0])
    rows, _ = model.write(read, {}, [model.start, *SAID[:-1]], len(SAID))
    return np.delete(rows, 1, axis=1)


@pytest.mark.parametrize("is_shared", [True, False])
def test_it_computes_what_the_decoder_in_use_computes(tmp_path: Path, is_shared: bool) -> None:
    model = FirefoxModel(write_tiny_firefox(tmp_path / "model", Measures(is_shared=is_shared)), 1)
    decoder = SsruDecoder(model.weights, model.size, model.places)
    states = torch.from_numpy(sentence(model).states)[None]
    with torch.inference_mode():
        # What is filled up is not seen.
        padded = torch.nn.functional.pad(states, (0, 0, 0, 3))
        is_source = torch.arange(8)[None] < 5
        found = decoder(padded, is_source, torch.tensor([SAID]))[0] @ decoder.embeddings.T + decoder.bias
    assert np.allclose(np.delete(found.numpy(), 1, axis=1), logits(model), atol=0.02)


def test_weights_that_did_not_change_are_written_as_they_were(folder: Path) -> None:
    model = FirefoxModel(folder, 1)
    decoder = SsruDecoder(model.weights, model.size, model.places)
    assert model.weights.replaced(decoder.values()) == model.files[0].read_bytes()


def test_decoder_and_heads_learn_an_answer_together(folder: Path, tmp_path: Path) -> None:
    model = FirefoxModel(folder, 1)
    decoder = SsruDecoder(model.weights, model.size, model.places)
    noise = np.random.default_rng(1)
    head = Head(0.25 * noise.normal(size=(16, 16)).astype(np.float32), np.zeros((16, 16), np.float32))
    fit = TunedFit(decoder, [head], [sentence(model)] * 8, list(range(2, 30)), epochs=300, seed=1)
    losses = [loss for _ in range(300) for loss in fit.epoch()]
    assert losses[-1] < 0.75 * losses[0]
    write_tiny_firefox(tmp_path)
    (tmp_path / model.files[0].name).write_bytes(model.weights.replaced(decoder.values()))
    before, after = (
        np.exp(rows[1] - rows[1].max()) / np.exp(rows[1] - rows[1].max()).sum()
        for rows in (logits(model), logits(FirefoxModel(tmp_path, 1)))
    )
    assert after[SAID[1] - 1] > before[SAID[1] - 1]
    assert np.abs(fit.heads()[0].outer).max() > 0


def test_a_tuned_model_and_its_heads_are_written_and_fit_each_other(folder: Path, tmp_path: Path) -> None:
    pairs, heads, tuned = (tmp_path / name for name in ("talk.tsv", "heads.gguf", "tuned"))
    pairs.write_text("".join(f"{text.lower()}\t{text}\n" for text in TARGET * 4))
    options = ["--to", "German", "--heads", 2, "--prompts", 20, "--epochs", 2]
    arguments = ["model", "heads", folder, "--pairs", pairs, "-o", heads, "--tune-base", tuned, *options]
    for data in ("original", "distilled"):
        given = [str(one) for one in [*arguments, "--data", data, "--beam", 2]]
        done = CliRunner().invoke(app, given, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        assert len(read_heads(heads, tuned)) == 2
        assert output_layer(tuned).vocabulary == output_layer(folder).vocabulary
        record = json.loads((tmp_path / "heads.gguf.json").read_text())
        assert (record["settings"]["data"], len(record["losses"]), len(record["blocks"])) == (data, 4, 2)
        assert FirefoxModel(tuned, 1).weights.floats("decoder_l1_ffn_b1").tolist() != (
            FirefoxModel(folder, 1).weights.floats("decoder_l1_ffn_b1").tolist()
        )


@pytest.mark.parametrize(
    ("model", "tuned", "says"),
    [("model", "model", "the same run reads it"), ("tiny.gguf", "tuned", "only Firefox's are tuned")],
)
def test_a_base_that_cannot_be_tuned_is_refused(
    folder: Path, tmp_path: Path, model: str, tuned: str, says: str
) -> None:
    shutil.copytree(folder, tmp_path / "model")
    write_model(tmp_path / "tiny.gguf", pieces({}))
    (tmp_path / "talk.tsv").write_text("a\tb\n")
    files = ["--pairs", "talk.tsv", "-o", "heads.gguf", "--tune-base", tuned]
    given = ["model", "heads", model, "--to", "German", *files]
    with chdir(tmp_path):
        assert says in str(CliRunner().invoke(app, given).exception)
