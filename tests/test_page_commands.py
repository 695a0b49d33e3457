"""Commands, settings and prompts on the pages are understood, and the commands of the first pages run."""

import re
import shlex
import shutil
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import soundfile
from typer.main import get_command

from flows.cli.app import app
from flows.engine.language_model import read_template
from flows.settings.loading import load_settings
from flows.settings.options import with_number
from tests.program import Program
from tests.recordings import write
from tests.virtual_microphone import VirtualMicrophone

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]
#: The pages whose commands are run as they are.
FIRST = (ROOT / "README.md", ROOT / "docs" / "start.md")


def blocks(page: Path, kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)


def commands(page: Path) -> list[str]:
    lines = "\n".join(blocks(page, "sh")).replace("\\\n", " ").splitlines()
    return [re.split(r" (?:#|2>)", line)[0].strip() for line in lines if line.strip() and line[0] != "#"]


CALLS = [
    pytest.param(words[1:], id=f"{page.name}: {shlex.join(words)}")
    for page in PAGES
    for words in map(shlex.split, commands(page))
    if Path(words[0]).name == "surtitle"
]
#: Without those of a project.
TOML = [block for page in PAGES for block in blocks(page, "toml") if "[project" not in block]
SETTINGS = [block for block in TOML if re.search(r"^\[", block, re.MULTILINE) and "{source}" not in block]
TEMPLATES = [block for block in TOML if block not in SETTINGS]


@cache
def program() -> Any:
    return get_command(app)


def understood(words: list[str]) -> None:
    """Raise the error of the command line for these words, if any; runs nothing."""
    command = program()
    while hasattr(command, "commands") and not words[0].startswith("-"):
        command, words = command.commands[words[0]], words[1:]
    command.make_context("surtitle", with_number(words))


@pytest.mark.parametrize("words", CALLS)
def test_a_command_of_a_page_is_understood(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    understood(words)


@pytest.mark.parametrize("settings", SETTINGS)
def test_settings_on_a_page_are_accepted(settings: str, tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text(settings)
    written = load_settings(path, takes_several=True).translate.to
    assert written is None or "German" in written


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_prompt_on_a_page_is_accepted(template: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(template)
    assert read_template(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, speech: Path) -> Path:
    """A folder with the files that the first pages speak of."""
    folder = tmp_path_factory.mktemp("pages")
    # A command may be tried before the one whose captions it reads.
    for name in ("partials.jsonl", "captions.jsonl"):
        shutil.copy(ROOT / "tests" / "samples" / name, folder)
    shutil.copy(speech, folder / "talk.wav")
    samples, rate = soundfile.read(speech, dtype="int16")
    for name in ("part1.mp4", "part2.mkv", "talk.mp4"):
        write(folder / name, samples, rate)
    (settings,) = blocks(FIRST[1], "toml")
    (folder / "surtitle.toml").write_text(settings)
    (folder / ".venv").symlink_to(Path(sys.executable).parent.parent)
    return folder


#: What other commands and tests/flows/cli/test_doctor.py show already, and what takes long.
LONG = (" live --captions-only", " live --to German,French,Japanese", " doctor")
RUN = [
    pytest.param(one, id=one, marks=pytest.mark.long if any(part in one for part in LONG) else [])
    for one in dict.fromkeys(one for page in FIRST for one in commands(page))
    if not one.startswith(("make", "uvx"))  # which tests/package runs
]


@pytest.mark.parametrize("command", RUN)
def test_a_command_of_the_first_pages_runs(
    command: str, folder: Path, virtual_microphone: VirtualMicrophone
) -> None:
    with Program(
        shlex.split(command), cwd=folder, env=virtual_microphone.environment, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        try:
            if " live " in command:
                virtual_microphone.wait_for_listener()
                virtual_microphone.play(folder / "talk.wav")
                # It listens while it loads models, and an interrupt would end that.
                assert process.stdout is not None
                process.stdout.readline()
                process.send_signal(signal.SIGINT)
            _, stderr = process.communicate(timeout=240)
        finally:
            process.kill()
    assert process.returncode == 0, stderr


def make(*arguments: str) -> str:
    done = subprocess.run(
        ["make", "--no-print-directory", *arguments],
        cwd=ROOT, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_make_demo_captions_a_recording_and_says_what_to_do_next() -> None:
    # `make test` is not repeated here: it is what runs this test.
    assert make("demo", "TO=German").splitlines()[-2].endswith("surtitle live --to German")
