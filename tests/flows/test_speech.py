"""Whisper and Azure from the command line: a real model, and the real SDK against a service that fails."""

import json
from pathlib import Path

from tests.program import surtitle


def test_a_recording_is_heard_by_whisper(tmp_path: Path, speech: Path, small: list[str]) -> None:
    settings = tmp_path / "surtitle.toml"
    settings.write_text("[recognize]\nmodel = 'base'\nthreads = 1\n")
    partials = tmp_path / "partials.jsonl"
    options = ("--settings", settings, "--recognizer", "whisper", "--set", f"output.partials={partials}")
    done = surtitle("file", speech, *small, *options)
    assert (done.returncode, done.stderr) == (0, "")
    said = [json.loads(line) for line in partials.read_text().splitlines()]
    text = " ".join(one["text"] for one in said if one["is_final"])

    assert "Ever tried" in text
    assert "No matter." in text


def test_the_language_of_a_recording_is_detected_among_several(tmp_path: Path, speech: Path) -> None:
    partials = tmp_path / "partials.jsonl"
    options = ("--from", "Portuguese,English", "--captions-only", "--set", f"output.partials={partials}")
    done = surtitle("file", speech, *options)
    assert (done.returncode, done.stderr) == (0, "")
    said = [json.loads(line) for line in partials.read_text().splitlines()]
    assert {one["spoken"] for one in said} == {"en"}
    assert "No matter." in " ".join(one["text"] for one in said if one["is_final"])
