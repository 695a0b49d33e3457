"""A recogniser, a sink and a decoding method of another package: found by entry point, or named by module."""

import os
import subprocess
import wave
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

from tests.program import ROOT, SURTITLE
from tests.tiny_gguf import pieces, write_model

PROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "counting"
version = "1.0"
[project.entry-points."surtitle.recognizers"]
counting = "counting:part"
[project.entry-points."surtitle.sinks"]
table = "counting:table"
[project.entry-points."surtitle.methods"]
looking-up = "counting:looking_up"
"""
CODE = '''
import msgspec

from connectors import FileSink
from connectors.files.records import LinesFile
from connectors.sinks.part import sink
from flows.settings.methods import method
from operators import Hypothesis
from operators.decoding.recycling import NGrams
from operators.errors import UsageError
from operators.recognizers.part import recognizer


class Settings(msgspec.Struct, frozen=True):
    """Counting."""

    #: Where to begin.
    first: int = 1


def check(settings, spoken, is_live):
    if spoken.code != "en":
        raise UsageError(f"counting knows no {spoken.name}")


@recognizer("counting", settings=Settings, check=check)
class part:
    """Hears a number in each second."""

    def __init__(self, settings, spoken, observe):
        self.segment, self.first = 0, (settings.own or Settings()).first

    def accept(self, chunk):
        at, text = self.segment, f"{self.first + self.segment}."
        if chunk.start_s + chunk.duration_s < at + 0.999:
            return []
        self.segment += 1
        return [Hypothesis(segment=at, text=text, is_final=True, start_s=at, end_s=at + 0.9)]

    def finish(self):
        return []

    def close(self):
        pass


@method("looking-up")
def looking_up(asked):
    return [NGrams(asked.task, asked.length)]


@sink("table", of="captions", help="Write the captions as a table (CSV).")
class table(FileSink):
    def open_file(self, position, file):
        row = lambda one: f"{one.segment};{one.source}\\n".encode()
        return LinesFile(self.path, position or 0, file, row)
'''


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which the package is installed, with what its runs need."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("target")
    (source / "pyproject.toml").write_text(PROJECT)
    (source / "counting").mkdir()
    (source / "counting" / "__init__.py").write_text(CODE)
    (wheel,) = WheelBuilder(str(source)).build(directory=str(source), versions=["standard"])
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)
    write_model(target / "tiny.gguf", pieces({}))
    with wave.open(str(target / "talk.wav"), "wb") as speech:
        speech.setparams((1, 2, 16_000, 0, "NONE", ""))
        speech.writeframes(b"\0\x20\0\xe0" * 16_000)
    return target


def surtitle(*arguments: str, cwd: Path, path: Path) -> "subprocess.CompletedProcess[str]":
    # Not forked: parts are found when the program is loaded.
    return subprocess.run(
        [SURTITLE, *arguments], cwd=cwd, env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{path}"},
        capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=240, check=False,
    )  # fmt: skip


FILE = ("file", "talk.wav", "--model", "tiny.gguf", "--threads", "1", "--sentences", "off", "--quiet")


def test_a_package_that_is_installed_adds_a_recogniser_a_sink_a_method_their_options_and_settings(
    installed: Path,
) -> None:
    (installed / "own.toml").write_text("[recognize.counting]\nfirst = 7\n")
    done = surtitle(
        *FILE, "--recognizer", "counting", "--table", "out.csv", "--settings", "own.toml",
        "--method", "looking-up",
        cwd=installed, path=installed,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert (installed / "out.csv").read_text() == "0;7.\n1;8.\n"
    helped = surtitle("file", "--help", cwd=installed, path=installed).stdout
    assert "--table" in helped
    assert "counting" in helped
    assert "looking-up" in helped
    refused = surtitle(*FILE, "--recognizer", "counting", "--from", "German", cwd=installed, path=installed)
    assert refused.stderr == "surtitle: counting knows no German\n"


def test_a_module_that_nobody_installed_is_named_with_the_part_in_it(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(CODE)
    options = ["--recognizer", "mine:part", "--sink", f"mine:table={tmp_path / 'out.csv'}"]
    for said in ("", "surtitle: there was nothing to caption\n"):
        done = surtitle(*FILE, *options, "--recovery", str(tmp_path / "run"), cwd=installed, path=tmp_path)
        assert (done.returncode, done.stderr) == (0, said)
        assert (tmp_path / "out.csv").read_text() == "0;1.\n1;2.\n", "a run that is resumed goes on with it"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--recognizer", "mine:part"], "a recogniser, mine:part, cannot be loaded: No module named 'mine'"),
        (["--recognizer", "os:getcwd"], "os:getcwd is not a recogniser"),
        (["--sink", "os:getcwd=out.csv"], "os:getcwd is not a sink"),
        (
            ["--sink", "out.csv"],
            "--sink: this is not one of its values; choose from sinks such as mine:table=talk.csv",
        ),
    ],
)
def test_what_is_no_part_is_refused_in_a_sentence(
    options: list[str], sentence: str, installed: Path, tmp_path: Path
) -> None:
    done = surtitle(*FILE, *options, cwd=installed, path=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"surtitle: {sentence}")
    assert len(done.stderr.splitlines()) == 1


def test_a_package_that_cannot_be_loaded_is_named_at_the_start(installed: Path, tmp_path: Path) -> None:
    entry_points = installed / "counting-1.0.dist-info" / "entry_points.txt"
    (tmp_path / "broken-1.dist-info").mkdir()
    (tmp_path / "broken-1.dist-info" / "METADATA").write_text("Name: broken\nVersion: 1\n")
    text = entry_points.read_text().replace("counting:", "broken:")
    (tmp_path / "broken-1.dist-info" / "entry_points.txt").write_text(text)
    done = surtitle("--help", cwd=installed, path=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(
        "surtitle: a decoding method, broken:looking_up, cannot be loaded: No module named"
    )
