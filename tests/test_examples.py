"""What packages give out has an example that runs, and asking for one name loads no more than it needs."""

import doctest
import importlib
import math
import os
import shutil
import struct
import subprocess
import sys
import wave
from pathlib import Path

import pytest

import connectors
import flows
import operators
from connectors.jsonl.files import read_events
from operators.events import ErasureRecord
from operators.recognizers.moonshine import bundled_recording

ROOT = Path(__file__).parent.parent
SAMPLES = ROOT / "tests" / "samples"
EXAMPLES = ROOT / "docs" / "examples"
EXPORTS = [(package.__name__, name) for package in (operators, connectors, flows) for name in package.__all__]
#: What has no example of its own: shown in docs/examples, or in the stage that takes it.
SHOWN_ELSEWHERE = {
    "DirectService",
    "ErasureMeter",
    "FileSink",
    "Hypothesis",
    "MicrophoneSource",
    "Recognizer",
    "Sentences",
    "TranslateSettings",
    "join_sentences",
    "language",
    "moonshine_recognizer",
    "open_engine",
    "open_screen",
}
#: What takes long to import, or may not be installed.
HEAVY = {"azure", "bytewax", "llama_cpp", "numpy", "onnxruntime", "sounddevice", "starlette"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a file of each kind that an example reads."""
    for name in ("captions.jsonl", "partials.jsonl"):
        shutil.copy(SAMPLES / name, tmp_path)
    (tmp_path / "log.jsonl").touch()
    with wave.open(str(tmp_path / "talk.wav"), "wb") as audio:
        audio.setparams((1, 2, 16_000, 0, "NONE", ""))
        for is_loud in (False, True, False, True, False, False, False, True):  # 0.5 s each
            tone = (is_loud * round(9_000 * math.sin(number * 0.3)) for number in range(8_000))
            audio.writeframes(b"".join(struct.pack("<h", sample) for sample in tone))
    return tmp_path


def run(program: Path, *arguments: str, cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, program, *arguments], cwd=cwd, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(("package", "name"), [one for one in EXPORTS if one[1] not in SHOWN_ELSEWHERE])
def test_the_example_of_an_export_runs(
    package: str, name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    exported = getattr(importlib.import_module(package), name)
    example = doctest.DocTestParser().get_doctest(exported.__doc__ or "", {}, name, None, 0)
    assert example.examples, f"{name} has no example"
    found: list[str] = []
    doctest.DocTestRunner(verbose=False).run(example, out=found.append)
    assert not found, "".join(found)


def test_asking_a_package_for_nothing_loads_nothing() -> None:
    program = "import sys, operators, connectors, flows, operators.events; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert HEAVY.isdisjoint(done.stdout.split())


@pytest.mark.real_model
def test_the_whole_chain_captions_a_recording_and_logs_its_erasure(folder: Path) -> None:
    said = run(EXAMPLES / "whole_chain.py", str(bundled_recording()), "log.jsonl", cwd=folder)
    records = list(read_events(folder / "log.jsonl", ErasureRecord))
    finals = [one for one in records if one.is_final]
    assert "tempos" in said
    assert len(said.splitlines()) == len({one.segment for one in records}) == len(finals) > 1


def test_a_recogniser_of_ones_own_recognises(folder: Path) -> None:
    said = run(EXAMPLES / "own_recognizer.py", "talk.wav", cwd=folder).splitlines()
    assert [line.partition(" s ")[2] for line in said] == [
        "~ beep", "~ beep beep", "= beep beep", "~ beep", "= beep"
    ]  # fmt: skip


def test_a_stage_of_ones_own_changes_what_is_translated(folder: Path) -> None:
    said = run(EXAMPLES / "own_stage.py", "partials.jsonl", cwd=folder)
    assert "welcome to the Bode Museum" in said
    assert "the museum" not in said


def test_a_sink_of_ones_own_writes_the_finals(folder: Path) -> None:
    run(EXAMPLES / "own_sink.py", "captions.jsonl", "transcript.txt", cwd=folder)
    lines = (folder / "transcript.txt").read_text().splitlines()
    captions = (folder / "captions.jsonl").read_text()
    assert len(lines) == captions.count('"is_final":true')
    assert lines[0].startswith("Guten Morgen")
