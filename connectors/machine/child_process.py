"""Runs a module of ours in a child process, where it may crash, and is killed when its time is over."""

import atexit
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple, TypeVar

import msgspec

from connectors.files.contents import DAMAGED

T = TypeVar("T")
# A process that a driver holds cannot be killed at once; it is left alone after this time.
_END_S = 2.0
_MAX_REASON = 300
_running: set[subprocess.Popen[bytes]] = set()


class Failure(NamedTuple):
    """Why there is no answer, as the rest of a sentence about the child process."""

    why: str
    #: Whether its time was over.
    is_late: bool = False
    #: What killed it.
    killed_by: signal.Signals | None = None


def run_child(
    module: str,
    arguments: list[str],
    answer: type[T],
    limit_s: float,
    environment: Mapping[str, str] | None = None,
) -> T | Failure:
    """Run a module as a program, and decode the JSON in the last line that it prints.

    Args:
        limit_s: Seconds after which the process and its children are killed.
        environment: Variables to set besides those of this process.
    """
    variables = {**os.environ, **(environment or {}), "PYTHONPATH": os.pathsep.join(sys.path)}
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=variables,
            start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        return Failure(f"could not be started: {error}")
    _running.add(process)
    try:
        stdout, stderr = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        return Failure(f"gave no answer within {limit_s:g} s", is_late=True)
    finally:
        _end(process)
    if process.returncode == 0:
        with suppress(IndexError, *DAMAGED):
            return msgspec.json.decode(stdout.splitlines()[-1], type=answer)
    return _ended(process.returncode, stderr)


@atexit.register
def _end_all() -> None:
    """A thread that waits here is not told when the program ends."""
    for process in list(_running):
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    _running.discard(process)
    if process.poll() is not None:
        return
    with suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):
        process.communicate(timeout=_END_S)


def _ended(code: int, stderr: bytes) -> Failure:
    if code < 0:
        died = signal.Signals(-code)
        return Failure(f"was killed by {died.name}", killed_by=died)
    last = stderr.decode("utf-8", "replace").strip().rpartition("\n")[2][:_MAX_REASON]
    return Failure(f"ended with {code}: {last}")
