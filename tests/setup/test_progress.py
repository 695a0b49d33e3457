"""Who waits for set-up sees how far it is."""

import io
import sys

import pytest
from progress import Compiling, Line, Wheels, run


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_one_line_that_changes() -> None:
    out = Terminal()
    line = Line(out)
    for number in range(3):
        line.say(f"compiling {number} of 3")
    line.end("done")
    assert out.getvalue().count("\n") == 1
    assert out.getvalue().count("\r") == 4
    assert out.getvalue().endswith("setup: done\n")


def test_a_log_gets_a_line_now_and_then() -> None:
    out, clock = io.StringIO(), iter(range(100))
    line = Line(out, lambda: next(clock) / 2)
    for number in range(50):
        line.say(f"compiling {number} of 50")
    assert 2 <= len(out.getvalue().splitlines()) <= 6


def test_pip_is_followed_by_packages_and_megabytes() -> None:
    wheels = Wheels(3)
    said = [
        wheels(line)
        for line in (
            "Collecting numpy==2.0",
            "  Downloading numpy-2.0-cp311-cp311-linux_x86_64.whl (16.5 MB)",
            "Collecting tqdm==4.67",
            "  Using cached tqdm-4.67-py3-none-any.whl (78 kB)",
            "WARNING: something",
            "Installing collected packages: numpy, tqdm",
        )
    ]
    assert said[-3:] == ["fetching packages: 2 of 3, 17 MB", None, "unpacking 2 packages"]


def test_ninja_is_followed_by_steps_and_the_time_that_is_left() -> None:
    clock = iter([0.0, 0.0, 100.0])
    compiling = Compiling("llama.cpp", lambda: next(clock))
    assert compiling("  -- The C compiler is GNU") is None
    assert compiling("  [1/80] Building C object a.o") == "compiling llama.cpp: 1 of 80"
    assert compiling("  [20/80] Building C object b.o") == "compiling llama.cpp: 20 of 80, about 5 min left"


@pytest.mark.parametrize("status", [0, 3])
def test_a_command_s_status_and_last_words_come_back(status: int) -> None:
    code = f"print('[1/2] a'); print('what went wrong'); raise SystemExit({status})"
    out = Terminal()
    assert run([sys.executable, "-c", code], Compiling("it"), Line(out)) == (
        status,
        ["[1/2] a", "what went wrong"],
    )
    assert "compiling it: 1 of 2" in out.getvalue()
