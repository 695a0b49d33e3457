"""What is not installed by default is asked for in one sentence, and everything else goes without it."""

import os
import subprocess
import sys
import tomllib
import wave
from pathlib import Path

import pytest

from operators.extras import EXTRAS
from tests.program import ROOT, completed

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CAPTIONS = str(ROOT / "tests" / "samples" / "captions.jsonl")


# The process that is forked has loaded what may import them.
WITHOUT = """
import sys
missing = {}
for name in [*sys.modules]:
    if name.partition(".")[0] in ("flows", "connectors", "operators", *missing):
        del sys.modules[name]
sys.modules.update(missing)
from flows.main import main
main()
"""


def surtitle(without: str, *arguments: object, cwd: Path) -> "subprocess.CompletedProcess[str]":
    """Run surtitle where the packages of an extra are not installed."""
    missing = dict.fromkeys(EXTRAS[without])
    return completed(
        [sys.executable, "-c", WITHOUT.format(missing), *arguments], cwd=cwd,
        env={**os.environ, "AZURE_SPEECH_KEY": "0" * 32},
    )  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "talk.txt").write_text("It was the best of times.\n")
    (tmp_path / "pairs.tsv").write_text("the house\tdas Haus\n")
    (tmp_path / "in.toml").write_text('[input.kafka]\ntopic = "said"\n')
    (tmp_path / "out.toml").write_text(f'input.captions = "{CAPTIONS}"\noutput.kafka.captions = "shown"\n')
    (tmp_path / "azure.toml").write_text('[recognize.azure]\nregion = "westeurope"\n')
    with wave.open(str(tmp_path / "talk.wav"), "wb") as speech:
        speech.setparams((1, 2, 16_000, 0, "NONE", ""))
        speech.writeframes(bytes(3_200))
    return tmp_path


@pytest.mark.parametrize(
    ("extra", "arguments", "who", "package"),
    [
        ("web", ["replay", CAPTIONS, "--web", "--port", "0"], "--web", "starlette"),
        ("web", ["replay", CAPTIONS, "--metrics", "0"], "--metrics", "starlette"),
        (
            "azure",
            ["file", "talk.wav", "--recognizer", "azure", "--realtime", "--settings", "azure.toml"],
            "the recogniser azure",
            "azure",
        ),
        ("kafka", ["job", "in.toml"], "input from Kafka", "confluent_kafka"),
        ("kafka", ["job", "out.toml"], "output to Kafka", "confluent_kafka"),
        ("bench", ["bench", "talk.txt", "--plots", "plots"], "--plots", "matplotlib"),
        (
            "train",
            ["model", "distill", "pairs.tsv", "--model", "base", "--to", "German", "-o", "new.tsv"],
            "training",
            "torch",
        ),
    ],
)
def test_a_missing_extra_is_named_with_how_to_install_it(
    folder: Path, extra: str, arguments: list[str], who: str, package: str
) -> None:
    done = surtitle(extra, *arguments, cwd=folder)
    # Only to the pip of this environment is surtitle installed, whatever it came from.
    install = f"{sys.executable} -m pip install 'surtitle[{extra}]'"
    sentence = f"{who} needs the package {package}; install it with: {install}"
    assert (done.returncode, done.stderr.strip().splitlines()) == (2, [f"surtitle: {sentence}"])


@pytest.mark.parametrize("extra", EXTRAS)
def test_what_does_not_need_an_extra_goes_without_it(folder: Path, extra: str) -> None:
    done = surtitle(extra, "replay", CAPTIONS, "--srt", "talk.srt", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert (folder / "talk.srt").read_text()


def test_extras_are_those_of_the_package() -> None:
    assert EXTRAS.keys() == PROJECT["optional-dependencies"].keys()
