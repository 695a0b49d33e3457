"""Ctrl-C, once and twice."""

import signal
import subprocess
import sys

BUSY = """
import threading
from flows.run import interrupt_sets
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
from flows.run import interrupt_sets
stop = threading.Event()
with interrupt_sets(stop):
    with stop._cond:
        signal.raise_signal(signal.SIGTERM)
    stop.wait()
"""


def test_the_first_ctrl_c_asks_to_stop_and_the_second_stops_at_once() -> None:
    with subprocess.Popen([sys.executable, "-c", BUSY], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "ready\n"
            process.send_signal(signal.SIGINT)
            assert process.stdout.readline() == "stopping\n"
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=10) == 130
        finally:
            process.kill()


def test_a_signal_at_the_moment_at_which_it_begins_to_be_waited_for_is_heard() -> None:
    assert subprocess.run([sys.executable, "-c", WAITING], timeout=20, check=False).returncode == 0
