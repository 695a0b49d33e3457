"""`surtitle reproduce`: one page with the paper's tables, from models and languages that a user names."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from flows.cli.app import app
from tests.tiny_gguf import pieces, write_model

SPEECH = (
    '{"stream":"s","segment":0,"revision":%d,"text":"%s","is_final":%s,"start_s":0,"end_s":1,"arrival_s":1}'
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for seed, name in enumerate(("one", "two")):
        write_model(tmp_path / f"{name}.gguf", pieces({}), seed=seed)
    (tmp_path / "text.txt").write_text("the weather was fine today\nit rains\n")
    (tmp_path / "ref.de").write_text("das Wetter war heute gut\nes regnet\n")
    lines = [SPEECH % (0, "it", "false"), SPEECH % (1, "it rains", "true")]
    (tmp_path / "talk.jsonl").write_text("\n".join(lines) + "\n")
    return tmp_path


def reproduced(*more: str) -> None:
    command = [
        "reproduce", "ssbd", "text.txt", "--lag", "1", "--repeat", "1", "--set", "translate.threads=1",
        "-o", "out", *more,
    ]  # fmt: skip
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.exception


def outputs() -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path("out/outputs.jsonl").read_text().splitlines()]


@pytest.mark.usefixtures("folder")
def test_a_page_has_each_model_and_language_and_a_second_run_measures_nothing_again() -> None:
    both = ["--model", "one.gguf,two.gguf", "--to", "German,Chinese", "--reference", "de=ref.de"]
    reproduced("talk.jsonl", *both)
    page = Path("out/page.md").read_text()
    titles = [line for line in page.splitlines() if line.startswith("**")]
    assert [title.strip("*")[:8] for title in titles[:6]] == [
        "Table 2:", "Table 6:", "Table 3:", "Table 4:", "What eac", "Table 7:"
    ]  # fmt: skip
    # Table 3 and those like it are of one model and pair: the first model, and Chinese as in the paper.
    assert "one.gguf, en→zh: COMET" in page
    assert "two.gguf, en→zh: COMET" not in page
    assert page.count("| one.gguf, SSBD |") == page.count("| two.gguf, SSBD |") == 4
    assert "protocol: `zeng2026v2`" in page
    figures = json.loads(Path("out/figures.json").read_text())
    runs = figures["signature"]["runs"]
    assert [(one["to"], one["model"]["file"]) for one in runs[:4]] == [
        ("German", "one.gguf"), ("Chinese", "one.gguf"), ("German", "two.gguf"), ("Chinese", "two.gguf")
    ]  # fmt: skip
    kept = sorted(path.read_bytes() for path in Path("out/trials").iterdir())
    said = outputs()
    reproduced("talk.jsonl", *both)
    assert sorted(path.read_bytes() for path in Path("out/trials").iterdir()) == kept
    assert outputs() == said


@pytest.mark.usefixtures("folder")
def test_every_translation_is_kept_with_its_settings_source_and_reference() -> None:
    reproduced("--tables", "2", "--model", "one.gguf", "--to", "German", "--reference", "ref.de")
    lines = outputs()
    assert [line["segment"] for line in lines[:2]] == ["line/000000", "line/000001"]
    assert {line["settings"]["method"] for line in lines} == {"retranslate", "ssbd"}
    one = lines[0]
    assert one["sources"][-1] == "the weather was fine today"
    assert one["reference"] == "das Wetter war heute gut"
    assert len(one["outputs"]) == len(one["sources"]) == 5


def test_a_model_without_a_file_of_its_makers_is_made_of_their_weights_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[tuple[str, str]] = []

    def convert(weights: str, target: Path, kind: str, _progress: object) -> None:
        made.append((weights, kind))
        shutil.copy(folder / "one.gguf", target)

    monkeypatch.setattr("connectors.models.convert.convert", convert)
    monkeypatch.setattr("operators.extras.require_extra", lambda *_: None)
    for _ in range(2):
        reproduced("--tables", "2", "--model", "tower-plus-2b,two.gguf", "--to", "German")
    assert made == [("Unbabel/Tower-Plus-2B", "q4_k_m")]
    assert {line["model"] for line in outputs()} == {"tower-plus-2b.q4_k_m.gguf", "two.gguf"}


@pytest.mark.usefixtures("folder")
def test_parallel_decoding_is_measured_on_whole_sentences_with_each_number_of_threads() -> None:
    command = [
        "reproduce",
        "jacobi",
        "text.txt",
        "--model",
        "one.gguf",
        "--to",
        "German",
        "--repeat",
        "1",
        "-o",
        "out",
    ]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.exception
    runs = json.loads(Path("out/figures.json").read_text())["signature"]
    assert (runs["protocol"], runs["corpus"].split("|")[1]) == ("santilli2023", "finals")
    page = Path("out/page.md").read_text()
    assert [line.split("|")[1].strip() for line in page.splitlines() if line.startswith("| PGJ, b = 3")] == [
        "PGJ, b = 3"
    ] * 2
    # Each output is greedy decoding's.
    (speed, *_) = (line for line in page.splitlines() if line.startswith("| HGJ, b = 3"))
    assert "| 100.0 |" in speed


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["ssbd", "text.txt", "--tables", "5"], "--tables: there is no 5; choose from 2, 3"),
        (["ssbd", "text.txt", "--reference", "fr=x"], "x is for French, but captions are in German or"),
        (["ssbd"], "there is nothing to measure: give a SOURCE, or --data"),
        (["blockwise", "text.txt"], "the proposal heads of the model are missing: make them with"),
    ],
)
def test_tables_that_cannot_be_reproduced_are_refused_at_once(
    folder: Path, options: list[str], sentence: str
) -> None:
    command = ["reproduce", *options, "--to", "German,Chinese"]
    result = CliRunner().invoke(app, command)
    assert sentence in str(result.exception or result.output)
    assert not (folder / "reproduced").exists()
