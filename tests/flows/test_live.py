"""Live captions from end to end: real models, and a virtual microphone that real speech is played into."""

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import soundfile

from operators.events import SAMPLE_RATE
from operators.recognizers.moonshine import moonshine_recognizer
from tests.flows.talk import read
from tests.operators.recognizers.speaking import chunks
from tests.program import SURTITLE, Program
from tests.virtual_microphone import VirtualMicrophone
from tests.waiting import size, until, wait_for


@contextmanager
def live(microphone: VirtualMicrophone, *arguments: object) -> Iterator["subprocess.Popen[str]"]:
    """`surtitle live`, listening; it is killed if a test leaves it behind."""
    process = Program(
        [SURTITLE, "live", *map(str, arguments)], env=microphone.environment, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def recognised(recording: Path) -> list[str]:
    samples, rate = soundfile.read(recording, dtype="int16")
    assert rate == SAMPLE_RATE
    recognizer = moonshine_recognizer()
    heard = [one for chunk in chunks(samples.tobytes()) for one in recognizer.accept(chunk)]
    heard += recognizer.finish()
    recognizer.close()
    return [one.text for one in heard if one.is_final]


def words(texts: list[str]) -> list[str]:
    return "".join(c for c in " ".join(texts).lower() if c.isalnum() or c == " ").split()


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory, speech: Path) -> Path:
    """Real speech, and two seconds of silence after it."""
    samples, rate = soundfile.read(speech, dtype="int16")
    path = tmp_path_factory.mktemp("talk") / "talk.wav"
    silence = np.zeros(2 * rate, np.int16)
    soundfile.write(path, np.concatenate((samples, silence)), rate)
    return path


def test_a_microphone_hears_the_words_that_the_recording_has_and_replaying_gives_the_same_captions(
    virtual_microphone: VirtualMicrophone, talk: Path, tmp_path: Path
) -> None:
    with live(
        virtual_microphone, "--to", "German", "--model", "captions", "--set", "translate.threads=2",
        "--captions", tmp_path / "captions.jsonl", "--set", f"output.audio={tmp_path / 'heard.wav'}",
        "--set", f"output.partials={tmp_path / 'partials.jsonl'}",
        "--set", f"output.sentences={tmp_path / 'sentences.jsonl'}",
        "--set", f"output.log={tmp_path / 'log.jsonl'}",
        "--set", f"output.summary={tmp_path / 'summary.json'}",
    ) as process:  # fmt: skip
        until(lambda: size(tmp_path / "heard.wav") > 16_000)
        virtual_microphone.play(talk)
        wait_for(tmp_path / "captions.jsonl", '"is_final":true')
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 0, stderr
    # What a small model makes of a word that was cut off is no matter here.
    assert [line for line in stderr.splitlines() if "further cases are only counted" not in line] == []
    captions = read(tmp_path / "captions.jsonl")
    finals = [one["shown"] for one in captions if one["is_final"]]
    assert stdout.splitlines()[: len(finals)] == finals
    assert "segments" in stdout

    partials = [one["text"] for one in read(tmp_path / "partials.jsonl") if one["is_final"]]
    want, got = words(recognised(talk)), words(partials)
    assert len(want) >= 7
    assert sum(word in got for word in want) >= 0.9 * len(want)

    subprocess.run(
        [
            SURTITLE, "replay", tmp_path / "sentences.jsonl", "--quiet", "--set", "translate.threads=2",
            "--captions", tmp_path / "again.jsonl",
        ],
        check=True,
    )  # fmt: skip
    again = [(one["segment"], one["revision"], one["shown"]) for one in read(tmp_path / "again.jsonl")]
    assert again == [(one["segment"], one["revision"], one["shown"]) for one in captions]

    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["latency_parts_ms"]["recogniser"]["p50"] > 0
    assert summary["latency_parts_ms"]["display"]["p50"] >= 0
    assert summary["lost_s"] < 0.5
    for record in read(tmp_path / "log.jsonl"):
        parts = record["latency"]
        assert sum(parts.values()) == pytest.approx(record["latency_from_speech_s"], abs=0.02)
