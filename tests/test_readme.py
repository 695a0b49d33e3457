"""Every command in the README does what it says there."""

import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import soundfile

from tests.virtual_microphone import VirtualMicrophone

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```(sh|toml)\n(.*?)```", README, re.DOTALL)
COMMANDS = [
    line.partition("#")[0].strip()
    for kind, block in BLOCKS
    if kind == "sh"
    for line in block.splitlines()
    if line.strip()
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, speech: Path) -> Path:
    """A folder with the files that the README speaks of."""
    folder = tmp_path_factory.mktemp("readme")
    # A command may be tried before the one whose captions it reads.
    for name in ("partials.jsonl", "captions.jsonl"):
        shutil.copy(ROOT / "tests" / "samples" / name, folder)
    shutil.copy(speech, folder / "talk.wav")
    settings = next(block for kind, block in BLOCKS if kind == "toml")
    (folder / "surtitle.toml").write_text(settings)
    (folder / ".venv").symlink_to(Path(sys.executable).parent.parent)
    return folder


def test_the_readme_has_commands() -> None:
    assert len(COMMANDS) >= 6


@pytest.mark.parametrize("command", [one for one in COMMANDS if not one.startswith("make")])
def test_a_command_of_the_readme_runs(
    command: str, folder: Path, virtual_microphone: VirtualMicrophone
) -> None:
    with subprocess.Popen(
        shlex.split(command), cwd=folder, env=virtual_microphone.environment, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        try:
            if " live " in command:
                virtual_microphone.wait_for_listener()
                virtual_microphone.play(folder / "talk.wav")
                process.send_signal(signal.SIGINT)
            _, stderr = process.communicate(timeout=240)
        finally:
            process.kill()
    assert process.returncode == 0, stderr


def make(*arguments: str) -> str:
    """What make prints."""
    done = subprocess.run(
        ["make", "--no-print-directory", *arguments],
        cwd=ROOT, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_make_demo_captions_a_recording_and_prints_the_log_last(speech: Path) -> None:
    # `make test` is not repeated here: it is what runs this test.
    assert make("demo", f"TALK={speech}").splitlines()[-1].split() == ["log", "surtitle-demo.jsonl"]
    assert (ROOT / "surtitle-demo.jsonl").stat().st_size > 0


def test_the_recording_of_make_demo_comes_along() -> None:
    command = shlex.split(make("demo", "--dry-run").splitlines()[-1])
    assert command[:2] == [".venv/bin/surtitle", "file"]
    assert soundfile.info(command[2]).duration > 40
