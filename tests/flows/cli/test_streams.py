"""Standard streams that are closed, full or no longer read: no crash, and no result is lost silently."""

import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.program import ROOT, SURTITLE, completed, surtitle

CAPTIONS = Path(__file__).parent.parent.parent / "samples" / "captions.jsonl"
REAL = (sys.executable, "-c", "from flows.main import main; main()")


def run(closed: str, *arguments: object) -> "subprocess.CompletedProcess[str]":
    """Run the program as a shell does it, with some of its streams closed: Python begins without them."""
    command = ["bash", "-c", f'"$@" {closed}', "bash", *REAL, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)


# Of a process that has begun: Python has None for a stream that it was started without.
CLOSED = """
import os, sys
for number in {}:
    os.close(number)
    setattr(sys, ("stdin", "stdout", "stderr")[number], None)
from flows.main import main
main()
"""


@cache
def usual(*arguments: object) -> str:
    """What a command prints where nothing is closed, but for figures."""
    return without_figures(surtitle(*arguments).stdout)


def without_figures(printed: str) -> str:
    return re.sub(r"[\d.]+", "0", printed)


COMMANDS = (["report", CAPTIONS], ["replay", CAPTIONS], ["--version"], ["live", "--help"])


@pytest.mark.parametrize(
    ("command", "closed"), [*zip(COMMANDS, ([1], [2], [0, 1, 2], [1]), strict=True), (COMMANDS[0], [0, 1, 2])]
)
def test_a_closed_stream_is_treated_like_dev_null(command: list[object], closed: list[int]) -> None:
    done = completed([sys.executable, "-c", CLOSED.format(closed), *command])
    assert (done.returncode, done.stderr) == (0, "")
    assert without_figures(done.stdout) == ("" if 1 in closed else usual(*command))


@pytest.mark.parametrize(("command", "at_once"), [*((one, "") for one in COMMANDS), (COMMANDS[1], "1")])
def test_output_on_a_full_disk_is_an_error_of_the_output(command: list[object], at_once: str) -> None:
    with Path("/dev/full").open("w") as full:
        environment = {**os.environ, "PYTHONUNBUFFERED": at_once}
        done = completed([SURTITLE, *command], stdout=full, env=environment)
    assert done.returncode == 4
    assert done.stderr.startswith("surtitle: standard output cannot be written: No space left on device")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("command", [COMMANDS[0], COMMANDS[3]], ids=lambda command: str(command[0]))
def test_a_reader_that_has_seen_enough_needs_no_sentence(command: list[object]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = completed([SURTITLE, *command], stdout=writer, env={**os.environ, "PYTHONUNBUFFERED": ""})
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")


def test_an_output_file_does_not_take_the_place_of_a_closed_stream(tmp_path: Path) -> None:
    captions = tmp_path / "captions.jsonl"
    log = f"output.log={tmp_path / 'log.jsonl'}"
    done = run("<&- >&- 2>&-", "replay", CAPTIONS, "--captions", captions, "--set", log)
    assert done.returncode == 0
    assert captions.read_text().count('{"event":"caption"') == captions.read_text().count("\n")


def test_a_bytewax_job_needs_no_standard_streams(tmp_path: Path) -> None:
    settings, captions = tmp_path / "surtitle.toml", tmp_path / "captions.jsonl"
    settings.write_text(
        f'[input]\ncaptions = "{CAPTIONS}"\n[translate]\nto = "German"\n[output]\ncaptions = "{captions}"\n'
    )
    job = [sys.executable, "-m", "bytewax.run", f"flows.captions:flow('{settings}')"]
    done = subprocess.run(["bash", "-c", '"$@" <&- >&- 2>&-', "bash", *job], cwd=ROOT, check=False)
    assert done.returncode == 0
    assert len(captions.read_text().splitlines()) == len(CAPTIONS.read_text().splitlines())
