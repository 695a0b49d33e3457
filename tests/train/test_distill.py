"""``surtitle model distill``: a model's own translations take the place of a corpus's."""

import gzip
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import operators.training.generate as distilled
from connectors.corpora import read_aligned, read_texts
from connectors.gguf.file import read_gguf
from flows.cli.app import app
from flows.model.in_torch import ends, torch_model
from operators.errors import InputError, UsageError
from operators.models.llama import ContextSettings, LlamaContext
from operators.models.llama_model import LlamaModel
from operators.prompts.select import select_prompt
from operators.prompts.template import TrainedPrompts, labels_of, spell_prompts
from operators.training.generate import Answer, answers, together
from tests.train.tiny_decoder import write_gemma

SOURCES = ["the house is red", "the cat", "a house", "the house", "that cat is red", "red"]


@pytest.fixture(scope="module")
def talker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that was taught nothing, but ends what it says."""
    asked = spell_prompts(TrainedPrompts((labels_of("English", "German"),)))
    path = tmp_path_factory.mktemp("talker") / "tiny.gguf"
    return write_gemma(path, 2, line_break=1.5, surtitle_templates=asked)


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "talk.tsv.gz"
    path.write_bytes(gzip.compress("".join(f"{source}\tetwas anderes\n" for source in SOURCES).encode()))
    return path


class Killed(BaseException):
    """As if the process had been killed here."""


def run(*arguments: object) -> str:
    done = CliRunner().invoke(app, ["model", *map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_it_says_what_llama_says(talker: Path) -> None:
    with closing(LlamaModel(talker)) as model:
        prompt = select_prompt(model, "auto", "English", "German")
        stops = ends(prompt, model.vocabulary_size)
        prompts = [prompt.build(prompt.source(source), is_final=True) for source in SOURCES]
        said = answers(torch_model(read_gguf(talker), torch.float32), prompts, stops, most=100, batch=4)
        assert {one.ended for one in said} == {True, False}
        settings = ContextSettings(cells=512, sequences=1, threads=1)
        for asked, answer in zip(prompts, said, strict=True):
            with closing(LlamaContext(model, settings)) as context:
                tokens = (*asked, *answer.tokens)
                rows = context.evaluate(0, tokens, 0, len(answer.tokens) + 1)
                best = rows.max(axis=1)
                chosen = [row[token] for row, token in zip(rows, answer.tokens, strict=False)]
                if answer.ended:
                    chosen.append(rows[-1, list(stops)].max())
                # Where two tokens are as good, either may be said.
                assert np.all(best[: len(chosen)] - chosen < 0.02 * rows.std())


def test_each_translation_becomes_the_model_s_own(talker: Path, pairs: Path, tmp_path: Path) -> None:
    out = tmp_path / "own.tsv.gz"
    printed = run("distill", pairs, "--model", talker, "--to", "German", "-o", out, "--batch", 4)
    own = dict(read_texts(out))
    assert f"{out}: {len(own)} pairs" in printed
    assert list(own) == [source for source in SOURCES if source in own]
    assert "etwas anderes" not in own.values()
    assert not list(tmp_path.glob("*.state"))
    # And they can be cut to what their prefixes support.
    run("align", out, "--to", "German", "--by", "proportion", "-o", tmp_path / "aligned")
    assert [" ".join(pair.source) for pair in read_aligned(tmp_path / "aligned" / "own.tsv.gz", "de")] == [
        *own
    ]


def test_a_limit_draws_the_same_pairs_with_the_same_seed(talker: Path, pairs: Path, tmp_path: Path) -> None:
    drawn = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        out = tmp_path / f"{name}.tsv"
        run("distill", pairs, "--model", talker, "--to", "de", "-o", out, "--limit", 3, "--seed", seed)
        drawn.append(out.read_text())
    assert drawn[0] == drawn[1] != drawn[2]
    assert 1 <= drawn[0].count("\n") <= 3


def test_a_run_that_was_killed_goes_on(
    talker: Path, pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, out = tmp_path / "whole.tsv", tmp_path / "own.tsv"
    arguments = ["--model", talker, "--to", "German", "--batch", 2]
    run("distill", pairs, *arguments, "-o", whole)
    asked = []

    def killed_at(call: int) -> None:
        def count(model: object, prompts: list[tuple[int, ...]], *rest: Any, most: int) -> Iterator[Answer]:
            asked.append(len(prompts))
            if len(asked) == call:
                raise Killed
            return together(model, prompts, *rest, most=most)

        monkeypatch.setattr(distilled, "together", count)

    killed_at(3)
    with pytest.raises(Killed):
        run("distill", pairs, *arguments, "-o", out)
    assert not out.exists()
    assert (tmp_path / "own.tsv.state").exists()
    with pytest.raises(UsageError, match="other data or settings"):
        run("distill", pairs, *arguments, "-o", out, "--limit", 2)
    asked.clear()
    run("distill", pairs, *arguments, "-o", out)
    assert asked == [2]
    assert out.read_text() == whole.read_text()
    assert not (tmp_path / "own.tsv.state").exists()


def test_what_does_not_end_is_left_out(pairs: Path, tmp_path: Path) -> None:
    base = write_gemma(tmp_path / "untaught.gguf")
    out = tmp_path / "own.tsv"
    with pytest.raises(InputError, match="none of the model's 6 answers can"):
        run("distill", pairs, "--model", base, "--to", "German", "-o", out)
    assert not out.exists()
