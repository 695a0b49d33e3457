"""Whisper from the command line: real speech, the real model, and a sentence for what it lacks."""

import json
from pathlib import Path

from tests.operators.recognizers.whisper.model_folder import TINY_EN
from tests.program import surtitle


def test_a_recording_is_heard_by_whisper(tmp_path: Path, speech: Path, small: list[str]) -> None:
    settings = tmp_path / "surtitle.toml"
    settings.write_text(f"[recognize]\nmodel = '{TINY_EN}'\nthreads = 1\n")
    partials = tmp_path / "partials.jsonl"
    options = ("--settings", settings, "--recognizer", "whisper", *small, "--save-partials", partials)
    done = surtitle("file", speech, *options)
    assert (done.returncode, done.stderr) == (0, "")
    said = [json.loads(line) for line in partials.read_text().splitlines()]
    text = " ".join(one["text"] for one in said if one["is_final"])

    assert "Ever tried" in text
    assert "No matter." in text


def test_what_is_missing_is_said_in_a_sentence(speech: Path, tmp_path: Path, small: list[str]) -> None:
    whisper = ("--recognizer", "whisper")
    none = surtitle("file", speech, *whisper, *small)
    folder = surtitle("file", speech, *whisper, "--speech-model", tmp_path, *small)

    assert (none.returncode, folder.returncode) == (2, 3)
    assert "whisper comes without a model: name the folder of one with --speech-model" in none.stderr
    assert "it holds no model.bin, config.json, vocabulary.json" in folder.stderr
    for done in (none, folder):
        assert len(done.stderr.splitlines()) == 1
