"""What a measuring command writes and prints keeps its names: fields for programs, columns for people."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import soundfile
from typer.testing import CliRunner

from flows.cli.app import app
from operators.recognizers.moonshine.recognizer import bundled_model
from tests.program import ROOT
from tests.tiny_gguf import pieces, write_model

PARTIALS = ROOT / "tests" / "samples" / "partials.jsonl"
KEPT: dict[str, dict[str, list[str]]] = json.loads(Path(__file__).with_name("kept.json").read_text())

#: A short run of each, with the options that add fields or columns.
COMMANDS = {
    "bench": "text.txt --reference text.txt --draft-model {draft} --likelihood --repeat 1 {model}",
    "bench --paper": "text.txt --paper --repeat 1 {model}",
    "bench-speech": "talk.wav --reference manifest.jsonl --bias 0.2 --certainty 0.7 --native",
    "bench-drafts": "text.txt --draft-model {draft} --lengths 4 --thresholds 0.4 --ratio 8.8 {model}",
    "bench-rooms": "{partials} --rooms 1 --modes batched,flow --simulate 2 --seconds 0.5 {model}",
    "loadgen": "{partials} --rooms 1 --seconds 0.5 {model}",
}


def fields(value: Any, name: str = "") -> set[str]:
    """The names of all fields, those inside others after a dot; rows of a list have theirs together."""
    if isinstance(value, dict):
        return {name}.union(*(fields(part, f"{name}.{key}") for key, part in value.items()))
    if isinstance(value, list):
        return {name}.union(*(fields(part, name) for part in value))
    return {name}


def printed(text: str) -> list[str]:
    """Titles, columns, notes and a signature's names, without the figures, which differ from run to run."""
    lines = []
    for line in text.splitlines():
        is_signature = line[:17].strip().replace("_", "").isalpha() and line[16:17] != " "
        words = (line[:17] if is_signature else re.sub(r"\d[\d.]*", "0", line)).split()
        if words and words.count("0") < 3:
            lines.append(" ".join(words))
    return lines


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for seed, name in enumerate(("model", "draft")):
        write_model(tmp_path / f"{name}.gguf", pieces({}), seed=seed)
    (tmp_path / "text.txt").write_text("the weather\n")
    (tmp_path / "manifest.jsonl").write_text('{"file": "talk.wav", "text": "It was the best of times"}\n')
    samples, rate = soundfile.read(bundled_model().parent / "two_cities.wav", dtype="int16")
    soundfile.write(tmp_path / "talk.wav", samples[: 3 * rate], rate)
    return tmp_path


@pytest.mark.parametrize("named", COMMANDS)
def test_a_command_keeps_the_fields_of_its_json_and_the_columns_of_its_tables(
    named: str, folder: Path
) -> None:
    command, _, _ = named.partition(" ")
    arguments = COMMANDS[named].format(
        partials=PARTIALS, draft=folder / "draft.gguf", model=f"--model {folder / 'model.gguf'} --threads 1"
    )
    result = CliRunner().invoke(
        app, [command, *arguments.split(), "--json", "out.json"], catch_exceptions=False
    )
    assert result.exit_code == 0, result.output
    found = sorted(fields(json.loads((folder / "out.json").read_text())))
    shown = printed(result.stdout.replace(str(folder), "."))
    assert {"fields": found, "printed": shown} == KEPT[named]
