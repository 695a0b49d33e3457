"""Signals are heard even while the main thread waits in native code, where it runs no handler."""

import signal
import subprocess
import sys

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


def ended(signals: int, waiting: str) -> "subprocess.CompletedProcess[str]":
    program = DEAF.format(signals=signals, waiting=waiting)
    return subprocess.run(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, timeout=20, check=False
    )


def test_a_main_thread_that_hears_nothing_is_asked_to_stop() -> None:
    done = ended(1, "stop.wait()")
    assert (done.returncode, done.stdout) == (0, "stopped\n")


def test_a_second_signal_ends_a_process_whose_main_thread_hears_nothing() -> None:
    done = ended(2, "lock = threading.Lock(); lock.acquire(); lock.acquire()")
    assert (done.returncode, done.stdout) == (128 + signal.SIGTERM, "")
