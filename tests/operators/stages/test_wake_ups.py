"""Wake-ups: a worker waits for them while it is idle, and for nothing else."""

import subprocess
import sys
from threading import Timer
from time import monotonic, thread_time

import pytest

from operators.stages import wake_ups
from operators.stages.wake_ups import WakeUps
from tests.program import ROOT


def test_an_idle_worker_leaves_the_processor_alone() -> None:
    wakes = WakeUps()
    began_s, used_s = monotonic(), thread_time()
    for _ in range(100):
        assert wakes.woken() == []
    assert thread_time() - used_s < (monotonic() - began_s) / 4


def test_a_wake_up_ends_the_wait_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wake_ups, "_WAIT_S", 60.0)
    wakes = WakeUps()
    timer = Timer(0.01, wakes.wake, ["a"])
    timer.start()
    began_s = monotonic()
    assert wakes.woken() == ["a"]
    assert monotonic() - began_s < 30
    timer.join()


def test_a_worker_that_was_given_something_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wake_ups, "_WAIT_S", 60.0)
    wakes = WakeUps()
    wakes.began()
    began_s = monotonic()
    assert wakes.woken() == []
    assert monotonic() - began_s < 30


@pytest.mark.parametrize(("processes", "workers"), [(1, 1), (1, 4), (4, 1), (2, 3)])
def test_the_first_worker_of_each_process_delivers(processes: int, workers: int) -> None:
    count = processes * workers
    for process in range(processes):
        wakes = WakeUps()
        wakes.input_began()
        source = wake_ups._Source(wakes, processes)
        wakes.wake("a")
        found = []
        for index in range(process * workers, (process + 1) * workers):
            part = source.build("wake", index, count)
            try:
                found.append((index, part.next_batch()))
            except StopIteration:
                continue
        assert found == [(process * workers, [("a", None)])]


# The first signal comes while the worker waits, and is handled for longer than it would have waited.
SIGNALLED = """
import signal, time
from operators.stages.wake_ups import WakeUps
wakes = WakeUps()
signal.signal(signal.SIGALRM, lambda *_: time.sleep(0.004))
signal.setitimer(signal.ITIMER_REAL, 0.0013, 0.0071)
for _ in range(100):
    assert wakes.woken() == []
signal.setitimer(signal.ITIMER_REAL, 0)
wakes.wake("a")
assert wakes.woken() == ["a"]
"""


def test_a_signal_does_not_make_a_worker_wait_for_ever() -> None:
    subprocess.run([sys.executable, "-c", SIGNALLED], cwd=ROOT, timeout=60, check=True)


def test_several_wake_ups_of_a_key_are_one() -> None:
    wakes = WakeUps()
    for key in "abba":
        wakes.wake(key)
    assert wakes.woken() == ["a", "b"]
    assert wakes.woken() == []
