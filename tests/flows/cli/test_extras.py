"""A missing extra is named in one sentence, and everything else works without it."""

import json
import os
import sys
import tomllib
import wave
from pathlib import Path

import pytest

from flows.doctor.checks import all_extras
from tests.program import ROOT, completed

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CAPTIONS, PARTIALS = (str(ROOT / "tests" / "samples" / f"{name}.jsonl") for name in ("captions", "partials"))


CASES = [
    ("llm", ["replay", PARTIALS, "--to", "German", "--model", "captions"], "the language model captions",
     "llama_cpp"),
    ("llm", ["replay", PARTIALS, "--to", "German", "--model", "mine.gguf"], "the language model mine.gguf",
     "llama_cpp"),
    ("llm", ["replay", PARTIALS, "--to", "Portuguese", "--set", "translate.accept=near-0.4"],
     "the rule near-N", "llama_cpp"),
    ("llm", ["model", "assemble", "--adapter", "adapter.gguf"], "assembling a model", "llama_cpp"),
    ("azure", ["file", "talk.wav", "--recognizer", "azure", "--realtime", "--settings", "azure.toml"],
     "the recogniser azure", "azure.cognitiveservices.speech"),
    ("sherpa", ["file", "talk.wav", "--recognizer", "sherpa"], "the recogniser sherpa", "sherpa_onnx"),
    ("vosk", ["file", "talk.wav", "--recognizer", "vosk"], "the recogniser vosk", "vosk"),
    ("media", ["file", "talk.mp4"], "talk.mp4", "imageio_ffmpeg"),
    ("kafka", ["job", "in.toml"], "input from Kafka", "confluent_kafka"),
    ("kafka", ["job", "out.toml"], "output to Kafka", "confluent_kafka"),
    ("train", ["model", "train", "base", "--pairs", "pairs.tsv", "-o", "new.gguf", "--to", "de"],
     "training", "peft"),
]  # fmt: skip
REPLAY = ["replay", PARTIALS, "--to", "Portuguese", "--srt", "talk.srt"]

# Loads the program where no extra is installed, and forks for each run of it. The process that this one is
# forked from has loaded what may import them.
WITHOUT = f"""
import json, os, sys
missing = {dict.fromkeys(package for extra in all_extras().values() for package in extra.packages)}
for name in [*sys.modules]:
    if name.partition(".")[0] in ("flows", "connectors", "operators", *missing):
        del sys.modules[name]
sys.modules.update(missing)
import flows.cli.app
from flows.main import main
statuses, commands = [], json.loads(sys.argv[1])
for number, command in enumerate(commands):
    if not os.fork():
        os.dup2(os.open(f"{{number}}.txt", os.O_WRONLY | os.O_CREAT), 2)
        sys.argv[1:] = command
        main()
    statuses.append(os.waitstatus_to_exitcode(os.wait()[1]))
print(json.dumps(statuses))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("extras")
    (folder / "talk.txt").write_text("It was the best of times.\n")
    (folder / "talk.mp4").write_bytes(b"\0\0\0\x20ftypisom")
    (folder / "pairs.tsv").write_text("the house\tdas Haus\n")
    (folder / "in.toml").write_text('translate.to = "German"\n[input.kafka]\ntopic = "said"\n')
    (folder / "out.toml").write_text(
        f'input.captions = "{CAPTIONS}"\ntranslate.to = "German"\noutput.kafka.captions = "shown"\n'
    )
    (folder / "azure.toml").write_text('[recognize.azure]\nregion = "westeurope"\n')
    with wave.open(str(folder / "talk.wav"), "wb") as speech:
        speech.setparams((1, 2, 16_000, 0, "NONE", ""))
        speech.writeframes(bytes(3_200))
    return folder


@pytest.fixture(scope="module")
def runs(folder: Path) -> list[tuple[int, str]]:
    """Exit codes and complaints of all runs, where no extra is installed."""
    commands = [*(arguments for _, arguments, _, _ in CASES), REPLAY]
    done = completed(
        [sys.executable, "-c", WITHOUT, json.dumps(commands)], cwd=folder,
        env={**os.environ, "AZURE_SPEECH_KEY": "0" * 32, "PATH": ""}, check=True,  # without an ffmpeg
    )  # fmt: skip
    statuses = json.loads(done.stdout.splitlines()[-1])
    return [(status, (folder / f"{number}.txt").read_text()) for number, status in enumerate(statuses)]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_a_missing_extra_is_named_with_how_to_install_it(runs: list[tuple[int, str]], number: int) -> None:
    extra, _, who, package = CASES[number]
    # Only to the pip of this environment is surtitle installed, whatever it came from.
    install = "make llm" if extra == "llm" else f"{sys.executable} -m pip install 'surtitle[{extra}]'"
    sentence = f"{who} needs the package {package}; install it with: {install}"
    code, complaints = runs[number]
    assert (code, complaints.strip().splitlines()) == (2, [f"surtitle: {sentence}"])


def test_firefoxs_models_translate_without_any_extra(runs: list[tuple[int, str]], folder: Path) -> None:
    assert runs[-1] == (0, "")
    assert (folder / "talk.srt").read_text()


def test_extras_are_those_of_the_package() -> None:
    assert all_extras().keys() == PROJECT["optional-dependencies"].keys()
