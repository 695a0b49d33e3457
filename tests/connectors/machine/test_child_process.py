"""What may crash or hang runs in a child process, and costs its parent a sentence."""

import os
import signal
import time
from pathlib import Path

import pytest

from connectors.machine.child_process import Failure, run_child


def module(folder: Path, monkeypatch: pytest.MonkeyPatch, code: str) -> str:
    """The name of a module with this code, which a child process can run."""
    (folder / "apart_of_a_test.py").write_text(code)
    monkeypatch.syspath_prepend(folder)
    return "apart_of_a_test"


def test_the_last_line_is_the_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = module(tmp_path, monkeypatch, "import sys\nprint('noise of a library')\nprint(sys.argv[1])")
    assert run_child(name, ["[1, 2]"], list[int], 20.0) == [1, 2]


def test_a_variable_is_set_for_the_child_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = module(tmp_path, monkeypatch, "import os\nprint(os.environ['APART'])")
    assert run_child(name, [], int, 20.0, {"APART": "3"}) == 3
    assert "APART" not in os.environ


@pytest.mark.parametrize(
    ("code", "failure"),
    [
        ("import os\nos.kill(os.getpid(), 11)", Failure("was killed by SIGSEGV", killed_by=signal.SIGSEGV)),
        ("raise ValueError('no sound')", Failure("ended with 1: ValueError: no sound")),
        ("print('not JSON')", Failure("ended with 0: ")),
        ("", Failure("ended with 0: ")),
    ],
)
def test_a_child_without_an_answer_is_told(
    code: str, failure: Failure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run_child(module(tmp_path, monkeypatch, code), [], int, 20.0) == failure


def test_a_child_that_hangs_is_killed_with_its_own_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = tmp_path / "pid"
    code = (
        "import pathlib, subprocess, sys, time\n"
        "inner = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"pathlib.Path({str(note)!r}).write_text(str(inner.pid))\n"
        "time.sleep(600)"
    )
    failure = run_child(module(tmp_path, monkeypatch, code), [], int, 2.0)
    assert failure == Failure("gave no answer within 2 s", is_late=True)
    deadline = time.monotonic() + 20
    while Path(f"/proc/{note.read_text()}").exists() and not is_dead(int(note.read_text())):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def is_dead(pid: int) -> bool:
    """Whether a process has ended, even if nobody has asked for its exit code."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True
