"""The program in a process of its own that need not load it: it is forked from one that has, `tests.loaded`.

Loading takes most of the time of a short run. Whatever `subprocess` can do, `Program` can; what begins before
Python does, or is about loading itself, is begun by `subprocess`.
"""

import atexit
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO, Any, AnyStr

ROOT = Path(__file__).parent.parent
SURTITLE = str(Path(sys.executable).with_name("surtitle"))


class Program(subprocess.Popen[AnyStr]):
    """A process that runs ``surtitle …``, ``python -m …`` or ``python -c …``; SIGINT is not ignored in it."""

    # These are what subprocess itself forks and waits with.
    def _execute_child(self, args: Sequence[Any], *rest: Any) -> None:
        _, before, _, _, cwd, env, _, _, _, *handles = rest[:15]
        assert before is None, "it is not forked here"
        status, theirs = os.pipe()
        ask = {
            "command": [os.fsdecode(one) for one in args],
            "cwd": os.fspath(cwd or Path.cwd()),
            "environment": dict(os.environ if env is None else env),
        }
        given = zip((handles[0], handles[3], handles[5]), range(3), strict=True)
        streams: list[int] = [inherited if own == -1 else own for own, inherited in given]
        try:
            socket.send_fds(_loaded(), [json.dumps(ask, default=os.fspath).encode()], [*streams, theirs])
        finally:
            os.close(theirs)
            self._close_pipe_fds(*handles)  # type: ignore[attr-defined]  # private
        self._status = os.fdopen(status, "rb", buffering=0)
        self.pid = struct.unpack("i", self._status.read(4))[0]
        self._child_created = True

    def _try_wait(self, flags: int) -> tuple[int, int]:
        if flags & os.WNOHANG:
            asked = select.poll()
            asked.register(self._status, select.POLLIN)
            if not asked.poll(0):
                return 0, 0
        told = self._status.read(4)
        self._status.close()
        return self.pid, struct.unpack("i", told)[0] if told else signal.SIGKILL

    def _internal_poll(self, *_: Any, **__: Any) -> int | None:
        if self.returncode is None and self._waitpid_lock.acquire(False):  # type: ignore[attr-defined]
            try:
                pid, status = self._try_wait(os.WNOHANG)
                if pid:
                    self._handle_exitstatus(status)  # type: ignore[attr-defined]
            finally:
                self._waitpid_lock.release()  # type: ignore[attr-defined]
        return self.returncode


def completed(
    command: Sequence[object],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdout: int | IO[Any] = subprocess.PIPE,
    timeout: float = 240,
    check: bool = False,
) -> "subprocess.CompletedProcess[str]":
    """Run a command to its end, without input, and give what it printed."""
    words = [str(one) for one in command]
    with Program(
        words, stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE, text=True, cwd=cwd, env=env
    ) as process:
        try:
            told, complaints = process.communicate(timeout=timeout)
        finally:
            process.kill()
    assert not check or process.returncode == 0, complaints
    return subprocess.CompletedProcess(words, process.returncode, told, complaints)


def surtitle(
    *arguments: object, cwd: Path | None = None, env: Mapping[str, str] | None = None, timeout: float = 240
) -> "subprocess.CompletedProcess[str]":
    return completed([SURTITLE, *arguments], cwd=cwd, env=env, timeout=timeout)


@cache
def _loaded() -> socket.socket:
    """A connection to the process that is forked; it ends with this one."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.loaded", str(theirs.fileno())], cwd=ROOT,
            pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            # Its threads would be gone in those that are forked.
            env={**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"},
        )  # fmt: skip

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours
