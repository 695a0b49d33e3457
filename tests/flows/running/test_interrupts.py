"""Ctrl-C, once and twice, at the very start, while nobody listens, and a terminal that is closed."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.flows.test_terminal import FINAL, SURTITLE, captions
from tests.killing import heed_signals

BUSY = """
import threading
from flows.running.interrupts import interrupt_sets
stop = threading.Event()
with interrupt_sets(stop):
    print("ready", flush=True)
    stop.wait()
    print("stopping", flush=True)
    threading.Event().wait(60)
"""

# A signal that comes at the worst moment: while the one that waits to be told so holds the lock.
WAITING = """
import signal, threading
from flows.running.interrupts import interrupt_sets
stop = threading.Event()
with interrupt_sets(stop):
    with stop._cond:
        signal.raise_signal(signal.SIGTERM)
    stop.wait()
"""

# Another thread gets the signal, so it does not interrupt what the main thread waits for. Nor does a signal
# that comes in the instant before the wait begins.
DEAF = """
import os, signal, threading, time
from flows.running.interrupts import interrupt_sets
stop = threading.Event()
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
with interrupt_sets(stop):
    for after_s in (0.2, 0.6)[:{signals}]:
        threading.Timer(after_s, os.kill, (os.getpid(), signal.SIGTERM)).start()
    {waiting}
    print("stopped", flush=True)
os._exit(0)
"""


def test_a_closed_terminal_stops_the_run_however_many_signals_it_sends() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", BUSY], stdout=subprocess.PIPE, text=True, preexec_fn=heed_signals
    ) as process:
        assert process.stdout is not None
        try:
            for said in ("ready\n", "stopping\n"):
                assert process.stdout.readline() == said
                process.send_signal(signal.SIGHUP)
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(timeout=0.5)
        finally:
            process.kill()


def test_a_signal_just_before_the_wait_is_not_lost() -> None:
    assert subprocess.run([sys.executable, "-c", WAITING], timeout=60, check=False).returncode == 0


@pytest.mark.parametrize(
    ("signals", "waiting", "code", "said"),
    [
        (1, "stop.wait()", 0, "stopped\n"),
        (2, "lock = threading.Lock(); lock.acquire(); lock.acquire()", 128 + signal.SIGTERM, ""),
    ],
)
def test_a_process_ends_after_a_signal_to_which_its_main_thread_does_not_react(
    signals: int, waiting: str, code: int, said: str
) -> None:
    program = DEAF.format(signals=signals, waiting=waiting)
    done = subprocess.run(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (code, said)


def interrupted(program: str, *arguments: object) -> tuple[int, str]:
    """The exit code of a program that gets Ctrl-C once it is ready, and what it says to standard error."""
    with subprocess.Popen(
        [sys.executable, "-c", STEPS + program, *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heed_signals,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "ready\n"
            process.send_signal(signal.SIGINT)
            _, stderr = process.communicate(timeout=60)
        finally:
            process.kill()
    return process.returncode, stderr


# A minute's work in short steps: a signal that comes just before one long sleep begins would not end it.
STEPS = """
import time

def busy():
    for _ in range(600):
        time.sleep(0.1)
"""
# Loading the command line takes long, before and after there are messages.
STARTING = """
import os, signal, sys
sys.argv = ["surtitle", "devices"]
if {slow!r} == "messages":
    import connectors.messages
    connectors.messages.begin_messages = lambda _format: (print("ready", flush=True), busy())
else:
    def in_a_print():
        raise RuntimeError("reentrant call")
    class Slow:
        def find_spec(self, name, path, target=None):
            if name == {slow!r}:
                # As it is for a signal that comes in the middle of a print.
                sys.stdout.flush = in_a_print
                os.write(1, b"ready\\n")
                busy()
    sys.meta_path.insert(0, Slow())
from flows.main import main
main()
"""


@pytest.mark.parametrize(
    ("slow", "code", "said"),
    [
        ("messages", -signal.SIGINT, ""),
        ("flows.cli.app", 130, "surtitle: interrupted before it was finished\n"),
        # What the command runs.
        ("connectors.microphone.devices", 130, "surtitle: interrupted before it was finished\n"),
    ],
)
def test_ctrl_c_at_the_start_shows_nothing_of_the_program(slow: str, code: int, said: str) -> None:
    assert interrupted(STARTING.format(slow=slow)) == (code, said)


# The address of the captions is told before the models are loaded.
LOADING = """
import sys
import flows.captions.runner
flows.captions.runner.RunResources.load = lambda _self, **_given: (print("ready", flush=True), busy())
sys.argv = ["surtitle", *sys.argv[1:]]
from flows.main import main
main()
"""


def test_ctrl_c_before_captions_begin_says_so_and_leaves_no_file(tmp_path: Path) -> None:
    partials = Path(__file__).parents[2] / "samples" / "partials.jsonl"
    arguments = ["replay", partials, "--web", "--port", "0", "--srt", tmp_path / "talk.srt"]
    code, stderr = interrupted(LOADING, *arguments)
    assert code == 130
    assert stderr == "surtitle: interrupted before it was finished\n"
    assert not (tmp_path / "talk.srt").exists()


ENDING = """
import atexit, sys, time
atexit.register(lambda: (print("ending", flush=True), time.sleep(1)))
sys.argv = ["surtitle", "--help"]
from flows.main import main
main()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_a_signal_after_the_end_changes_no_exit_code(number: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", ENDING], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            while process.stdout.readline() != "ending\n":
                pass
            process.send_signal(number)
            assert process.wait(timeout=30) == 0
        finally:
            process.kill()


def leave() -> None:
    """Run in a session of its own, with standard output as the controlling terminal."""
    heed_signals()
    os.setsid()
    fcntl.ioctl(1, termios.TIOCSCTTY, 0)


def stay() -> None:
    """Like `leave`, but ignoring SIGHUP, as under ``nohup``."""
    leave()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


@pytest.mark.parametrize(("begin", "finals"), [(leave, range(1, 40)), (stay, [40])])
def test_a_run_whose_terminal_is_closed_ends_its_files(
    tmp_path: Path, begin: Callable[[], None], finals: range | list[int]
) -> None:
    ours, its = os.openpty()
    saved = tmp_path / "saved.jsonl"
    with subprocess.Popen(
        [
            SURTITLE, "replay", captions(tmp_path, segments=40, seconds=0.02), "--realtime",
            "--captions", saved, "--set", f"output.summary={tmp_path / 'summary.json'}",
        ],
        stdin=its, stdout=its, stderr=its, preexec_fn=begin, env={**os.environ, "TERM": "xterm"},
    ) as process:  # fmt: skip
        try:
            os.close(its)
            while not (saved.exists() and FINAL in saved.read_text()) and process.poll() is None:
                os.read(ours, 4096)
            os.close(ours)
            assert process.wait(timeout=60) == 0
        finally:
            process.kill()
    assert json.loads((tmp_path / "summary.json").read_text())["segments"] in finals
    assert sum(json.loads(line)["is_final"] for line in saved.read_text().splitlines()) in finals
