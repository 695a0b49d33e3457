"""Whisper and Azure from the command line: a real model, and the real SDK against a service that fails."""

import json
import os
import wave
from pathlib import Path

from tests.operators.recognizers.azure.server import Session, running, say
from tests.operators.recognizers.whisper.model_folder import TINY_EN
from tests.program import SURTITLE, completed, surtitle


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


KEY = "0123456789abcdef0123456789abcdef"


def drop_in_mid_sentence(session: Session) -> None:
    session.recognize(1.6)
    session.drop()


def test_a_lost_connection_is_told_nothing_is_lost_and_the_key_is_nowhere(
    tmp_path: Path, small: list[str]
) -> None:
    with wave.open(str(tmp_path / "talk.wav"), "wb") as talk:
        talk.setparams((1, 2, 16_000, 0, "NONE", ""))
        talk.writeframes(say([1, 2, 3], [4, 5, 6, 7], [8]))
    with running(drop_in_mid_sentence, Session.recognize) as server:
        (tmp_path / "surtitle.toml").write_text(
            f'[recognize]\nengine = "azure"\n[recognize.azure]\nhost = "{server.url}"\n'
        )
        done = completed(
            [
                SURTITLE, "file", "talk.wav", "--realtime", "--settings", "surtitle.toml", *small,
                "--save-partials", "partials.jsonl", "--log", "log.jsonl", "--summary", "summary.json",
            ],
            cwd=tmp_path, env={**os.environ, "AZURE_SPEECH_KEY": KEY}, timeout=60,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    partials = [json.loads(line) for line in (tmp_path / "partials.jsonl").read_text().splitlines()]
    assert [one["text"] for one in partials if one["is_final"]] == ["w1 w2 w3", "w4 w5 w6 w7", "w8"]
    assert "connection to Azure lost" in done.stderr
    assert "connected again" in done.stderr
    written = [path.read_text() for path in tmp_path.iterdir() if path.suffix != ".wav"]
    assert not any(KEY in text for text in (done.stdout, done.stderr, *written))
    assert json.loads((tmp_path / "summary.json").read_text())["settings"]["recognize"]["engine"] == "azure"
