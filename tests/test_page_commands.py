"""Commands, settings and prompts on the pages are understood, and the commands run."""

import json
import os
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

from connectors.audio.ffmpeg import program
from flows.cli.app import app
from flows.engine.language_model import read_template
from flows.settings.loading import load_settings
from flows.settings.options import with_number
from tests.program import Program
from tests.recordings import write
from tests.virtual_microphone import NAME as MICROPHONE
from tests.virtual_microphone import VirtualMicrophone

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/*.md"))]


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
def command_line() -> Any:
    return get_command(app)


def understood(words: list[str]) -> None:
    """Raise the error of the command line for these words, if any; runs nothing."""
    command = command_line()
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
    load_settings(path, takes_several=True)


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_prompt_on_a_page_is_accepted(template: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(template)
    assert read_template(path)


#: What the reader has and this machine has not.
STAND_INS = {
    '--device "USB"': f"--device {MICROPHONE}",
    "--host 0.0.0.0": "--host 127.0.0.1",
    "--seconds 60": "--seconds 1",
    "large.gguf": "base",
    "small.gguf": "base",
    "metrics.listen=9464": "metrics.listen=0",
}
#: Commands that run elsewhere: what they contain, and the tests, or the target of the Makefile.
ELSEWHERE = {
    "make ": "Makefile",
    "uvx --from": "tests/package",
    "uv tool install": "tests/package",
    "pip install": "tests/package",
    "docker": "tests/deploy",
    "kubectl": "tests/deploy",
    "curl ": "tests/flows/observe",
    "models get": "tests/flows/cli/test_models.py",
    "surtitle model ": "tests/train",
    "captions.gguf": "tests/train",
    "heads=heads.gguf": "tests/flows/measuring/test_blockwise.py",
    "--server": "tests/flows/measuring/test_loadgen.py",
    "surtitle job job.toml": "tests/flows/kafka/test_page.py",
    "output.kafka.partials": "tests/flows/kafka/test_page.py",
    ". .venv/bin/activate": ".ci/setup",
    "python docs/examples": "tests/test_examples.py",
    "bytewax": "tests/test_examples.py",
}
#: What other tests show already, and what takes long.
LONG = (
    " live --captions-only", "German", "Spanish", " doctor", "--speakers", " --from ", " reproduce ",
    "--task speech", "surtitle demo", "models --speech", "bench talk.en", "--from auto",
)  # fmt: skip
COMMANDS = dict.fromkeys(one for page in PAGES for one in commands(page))
RUN = [
    pytest.param(one, id=one, marks=pytest.mark.long if any(part in one for part in LONG) else [])
    for one in COMMANDS
    if not any(part in one for part in ELSEWHERE)
]


@pytest.mark.parametrize(("part", "where"), ELSEWHERE.items())
def test_commands_that_run_elsewhere_are_on_a_page_and_their_tests_are_there(part: str, where: str) -> None:
    assert any(part in one for one in COMMANDS)
    assert (ROOT / where).exists()


@pytest.fixture
def folder(named: Path, tmp_path: Path) -> Path:
    """A folder for one command."""
    return Path(shutil.copytree(named, tmp_path / "pages", symlinks=True))


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory, speech: Path) -> Path:
    """A folder with the files that the pages name."""
    folder, samples = tmp_path_factory.mktemp("pages"), ROOT / "tests" / "samples"
    for name, sample in (("partials", "partials"), ("captions", "captions"), ("again", "captions")):
        shutil.copy(samples / f"{sample}.jsonl", folder / f"{name}.jsonl")
    sentences = [one | {"is_sentence": True} for one in events(samples / "partials.jsonl")]
    (folder / "talk.sentences.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in sentences))
    for name in ("talk.wav", "two_cities.wav"):
        shutil.copy(speech, folder / name)
    sound, rate = soundfile.read(speech, dtype="int16")
    write(folder / "talk.mkv", sound, rate)
    for name in ("talk.mp4", "lecture.mp4"):
        video(folder / name, speech)
    for page in PAGES:
        for block in blocks(page, "toml"):
            for name in re.findall(r"^# (\w+\.toml)\n", block):
                (folder / name).write_text(block)
    (folder / "terms.tsv").write_text("seal\tvedação\n")
    (folder / "termes.tsv").write_text("seal\tjoint\n")
    segments = len({one["segment"] for one in events(samples / "captions.jsonl")})
    for name, text in (("en", "The seal on the pump is new."), ("pt", "A vedação é nova.")):
        for begin, count in (("talk", segments), ("flores", 2)):
            (folder / f"{begin}.{name}").write_text(f"{text}\n" * count)
    (folder / "manifest.jsonl").write_text(
        "".join(f'{{"file": "{name}", "text": "Hello."}}\n' for name in ("talk.wav", "two_cities.wav"))
    )
    (folder / ".venv").symlink_to(Path(sys.executable).parent.parent)
    return folder


def events(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def video(path: Path, sound: Path) -> None:
    picture = ["-f", "lavfi", "-i", "color=c=navy:size=320x180:rate=10", "-i", str(sound), "-shortest"]
    subprocess.run([program(), "-loglevel", "error", "-y", *picture, str(path)], check=True)


def here(command: str, folder: Path) -> list[str]:
    """The words of a command, with what stands in for what is not here."""
    for named, stand_in in STAND_INS.items():
        command = command.replace(named, stand_in)
    words = [
        found
        for word in shlex.split(command)
        for found in (sorted(path.name for path in folder.glob(word)) if "*" in word else [word])
    ]
    # Another test may hold the usual port.
    return [*words, "--port", "0"] if {"serve", "--web"} & set(words) else words


@pytest.mark.parametrize("command", RUN)
def test_a_command_of_a_page_runs(command: str, folder: Path, virtual_microphone: VirtualMicrophone) -> None:
    given, _, piped = command.rpartition(" | ")
    words = here(piped, folder)
    with (
        (folder / given.removeprefix("cat ") if given else Path(os.devnull)).open("rb") as stdin,
        Program(
            words, cwd=folder, env=virtual_microphone.environment, text=True,
            stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ) as process,
    ):  # fmt: skip
        try:
            if "live" in words:
                virtual_microphone.wait_for_listener()
                virtual_microphone.play(folder / "talk.wav")
                # It listens while it loads models, and an interrupt would end that.
                assert process.stdout is not None
                process.stdout.readline()
                process.send_signal(signal.SIGINT)
            elif "serve" in words:
                assert process.stderr is not None
                while "http://" not in (line := process.stderr.readline()):
                    assert line, "it ended"
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
