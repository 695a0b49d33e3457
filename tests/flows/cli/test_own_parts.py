"""The parts of docs/architecture.md in a package of their own: found by entry point, or named by module."""

import os
import re
import subprocess
import wave
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

from tests.program import ROOT, SURTITLE, completed
from tests.tiny_gguf import pieces, write_model

PAGE = (ROOT / "docs" / "architecture.md").read_text()
#: The modules of the page, by file name.
MODULES = dict(re.findall(r"^```python\n# (\w+\.py)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE))
(ENTRY_POINTS,) = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
PROJECT = f"""
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "rehearsing"
version = "1.0"
[tool.hatch.build.targets.wheel]
include = ["*.py"]
{ENTRY_POINTS}
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which the package is installed, with what its runs need."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("target")
    (source / "pyproject.toml").write_text(PROJECT)
    for name, code in MODULES.items():
        (source / name).write_text(code)
    (wheel,) = WheelBuilder(str(source)).build(directory=str(source), versions=["standard"])
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)
    write_model(target / "tiny.gguf", pieces({}))
    (target / "script.txt").write_text("Good morning.\nGood night.\n")
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


FILE = ("file", "talk.wav", "--model", "tiny.gguf", "--set", "sentences.method=off", "--quiet")
SCRIPT = ("--recognizer", "script", "--speech-model", "script.txt")


def heard(table: Path) -> list[list[str]]:
    """The start and the speech of each line of a table."""
    return [[line.split("\t")[0], line.split("\t")[2]] for line in table.read_text().splitlines()]


def test_a_package_that_is_installed_adds_its_parts_with_their_settings(
    installed: Path,
) -> None:
    (installed / "own.toml").write_text("[recognize.plugin]\nline_s = 0.5\n")
    done = surtitle(
        *FILE, *SCRIPT, "--set", 'output.sinks=["table=out.tsv"]', "--settings", "own.toml",
        cwd=installed, path=installed,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert heard(installed / "out.tsv") == [["0.00", "Good morning."], ["0.50", "Good night."]]
    absent = ["--recognizer", "script", "--speech-model", "none"]
    refused = surtitle(*FILE, *absent, cwd=installed, path=installed)
    assert (refused.returncode, refused.stderr) == (
        3,
        "surtitle: none: there is no such script; name a text\n",
    )


def test_modules_that_nobody_installed_are_named_with_the_parts_in_them(
    installed: Path, tmp_path: Path
) -> None:
    for name, code in MODULES.items():
        (tmp_path / f"own_{name}").write_text(code)
    options = [
        "--recognizer", "own_script:script", "--speech-model", "script.txt",
        "--set", f'output.sinks=["own_table:table={tmp_path / "out.tsv"}"]',
    ]  # fmt: skip
    for said in ("", "surtitle: there was nothing to caption\n"):
        done = surtitle(*FILE, *options, "--recovery", str(tmp_path / "run"), cwd=installed, path=tmp_path)
        assert (done.returncode, done.stderr) == (0, said)
        lines = heard(tmp_path / "out.tsv")
        assert lines == [["0.00", "Good morning."], ["1.00", "Good night."]], "a resumed run goes on"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--recognizer", "mine:part"], "a recogniser, mine:part, cannot be loaded: No module named 'mine'"),
        (["--recognizer", "os:getcwd"], "os:getcwd is not a recogniser"),
        (["--set", 'output.sinks=["os:getcwd=out.csv"]'], "os:getcwd is not a sink"),
        (["--set", 'output.sinks=["out.csv"]'], "output.sinks[0]: Expected `str` matching regex"),
    ],
)
def test_what_is_no_part_is_refused_in_a_sentence(options: list[str], sentence: str, installed: Path) -> None:
    done = completed([SURTITLE, *FILE, *options], cwd=installed)
    assert done.returncode == 2
    assert done.stderr.startswith(f"surtitle: {sentence}")
    assert len(done.stderr.splitlines()) == 1


def test_a_package_that_cannot_be_loaded_is_named(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "broken-1.dist-info").mkdir()
    (tmp_path / "broken-1.dist-info" / "METADATA").write_text("Name: broken\nVersion: 1\n")
    broken = "[surtitle.recognizers]\nscript = broken:script\n"
    (tmp_path / "broken-1.dist-info" / "entry_points.txt").write_text(broken)
    done = surtitle("doctor", "--quick", cwd=installed, path=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("surtitle: a recogniser, broken:script, cannot be loaded: No module named")
