"""Whisper and Azure from the command line: a real model, and the real SDK against a service that fails."""

import json
from pathlib import Path

from tests.operators.recognizers.whisper.model_folder import TINY_EN
from tests.program import surtitle


def test_a_recording_is_heard_by_whisper(tmp_path: Path, speech: Path, small: list[str]) -> None:
    settings = tmp_path / "surtitle.toml"
    settings.write_text(f"[recognize]\nmodel = '{TINY_EN}'\nthreads = 1\n")
    partials = tmp_path / "partials.jsonl"
    options = ("--settings", settings, "--recognizer", "whisper", "--set", f"output.partials={partials}")
    done = surtitle("file", speech, *small, *options)
    assert (done.returncode, done.stderr) == (0, "")
    said = [json.loads(line) for line in partials.read_text().splitlines()]
    text = " ".join(one["text"] for one in said if one["is_final"])

    assert "Ever tried" in text
    assert "No matter." in text
