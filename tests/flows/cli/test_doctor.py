"""`surtitle doctor` from the command line, with the real model."""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.trial import heed_signals
from tests.program import SURTITLE, completed
from tests.waiting import until

# The program on a machine on which llama.cpp does not run; it tells whether it loaded llama.cpp all the same.
WITHOUT_LIBRARY = """
import sys, connectors.machine.trial as trial
from operators.errors import InputError
def require_library(): raise InputError("llama.cpp does not work here; compile it again")
trial.require_library = require_library
from flows.main import main
sys.argv = ["surtitle", *sys.argv[1:]]
try:
    main()
finally:
    print("llama_cpp" in sys.modules, file=sys.stderr)
"""


def run(*command: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    """The end of a process with these variables in its environment."""
    return completed(command, env={**os.environ, **variables})


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    """What a whole examination of this machine tells."""
    done = run(SURTITLE, "doctor", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def facts(told: dict[str, Any], subject: str) -> dict[str, Any]:
    """The facts about one subject."""
    (found,) = [one["facts"] for one in told["checks"] if one["subject"] == subject]
    return dict(found)


def test_all_subjects_are_examined(told: dict[str, Any]) -> None:
    assert told["works"] is True
    assert [one["subject"] for one in told["checks"]] == [
        "processor", "model", "recogniser", "memory", "disk", "microphone", "ports", "terminal", "extras",
        "speed",
    ]  # fmt: skip
    assert all(one["findings"] for one in told["checks"])


def test_the_default_model_is_loaded_and_known_as_one_for_captions(told: dict[str, Any]) -> None:
    model = facts(told, "model")
    assert (model["error"], model["is_for_captions"], model["direction"]) == (None, True, "English to German")
    assert facts(told, "memory")["model_mb"] == model["mb"] == pytest.approx(150, abs=50)


def test_recogniser_and_translator_were_really_run(told: dict[str, Any]) -> None:
    speed = facts(told, "speed")
    assert speed["speech_s"] == 12.0
    assert speed["recognized_s"] > 0
    # A slow machine translates a part of them.
    assert len(speed["updates_ms"]) >= 3
    assert min(speed["updates_ms"]) >= 0
    assert 0 < speed["translated_s"] <= 12


def test_the_library_tells_the_instruction_sets_that_it_uses(told: dict[str, Any]) -> None:
    assert facts(told, "processor")["library"]["error"] is None
    assert facts(told, "processor")["library"]["uses"]


def test_a_model_that_is_not_there_ends_with_1_and_is_named_last() -> None:
    done = run(SURTITLE, "doctor", "--quick", "--model", "none.gguf")
    assert (done.returncode, done.stderr) == (1, "")
    assert "There is no model file none.gguf" in " ".join(done.stdout.split())
    assert done.stdout.splitlines()[-1] == "Captions will not work yet: see model."


def test_the_doctor_does_not_load_llama_cpp_which_the_other_commands_refuse_without_a_trial() -> None:
    def begun(*arguments: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-c", WITHOUT_LIBRARY, *arguments]
        return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)

    done = begun("doctor", "--quick", "--json")
    assert (done.returncode, done.stderr) == (0, "False\n")
    assert json.loads(done.stdout)["checks"]
    refused = begun("replay", "talk.jsonl")
    assert refused.returncode == 3
    assert refused.stderr.startswith("surtitle: llama.cpp does not work here")


def test_ctrl_c_ends_it_with_its_child_processes() -> None:
    with subprocess.Popen(
        [SURTITLE, "doctor"], stdout=subprocess.DEVNULL, preexec_fn=heed_signals
    ) as process:
        children = until(lambda: children_of(process.pid))
        process.send_signal(signal.SIGINT)
        process.wait(timeout=60)
    assert process.returncode == 130
    until(lambda: not any(is_running(child) for child in children))


def children_of(pid: int) -> list[int]:
    """The child processes of a process that are checks."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            stat = (path / "stat").read_text().rpartition(")")[2].split()
            if int(stat[1]) == pid and b"flows.doctor.child" in (path / "cmdline").read_bytes():
                found.append(int(path.name))
    return found


def is_running(pid: int) -> bool:
    """Whether a process has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False
