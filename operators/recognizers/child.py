"""A recogniser in a process of its own: both ends of the wire between the two processes.

The child is a fresh interpreter, no fork: the parent has threads and models. It has the parent's module path,
nothing of its main module, and no terminal: an interrupt from the keyboard does not reach it, and what native
code prints goes nowhere. It ends when its standard input does, and that ends with the parent, however that
comes about, even while native code is busy.
"""

import itertools
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import traceback
import weakref
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path

import msgspec

from operators.errors import SurtitleError
from operators.events import AudioChunk
from operators.recognizers.protocol import Hypothesis, Recognizer

_CODE = "import sys; sys.path[:] = {path!r}; from operators.recognizers.child import main; main({wire})"
# Models may be large, and disks slow.
_START_PATIENCE_S = 300.0
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class Answer(msgspec.Struct, frozen=True):
    """What the child says to each message: to that which tells it what to be, to a chunk, to the end."""

    #: Number of the message: an answer that was not waited for, as after an interrupt, is found out by it.
    number: int
    hypotheses: tuple[Hypothesis, ...] = ()
    #: Resident memory of the child.
    resident_bytes: int = 0
    #: What went wrong instead; the recogniser is then not to be used any more.
    error: Exception | None = None


class ChildDiedError(Exception):
    """The child ended, or gave no answer for too long; the message says which."""


class Child:
    """The parent's end: a child that makes a recogniser, and then answers.

    :arg make: Makes the recogniser in the child; has to be picklable.
    :arg patience_s: Seconds after which a child that gives no answer is given up.
    """

    def __init__(self, make: Callable[[], Recognizer], patience_s: float) -> None:
        self._patience_s = patience_s
        message = pickle.dumps(make)
        ours, theirs = socket.socketpair()
        with theirs:
            code = _CODE.format(path=sys.path, wire=theirs.fileno())
            self._process = subprocess.Popen(
                [sys.executable, "-c", code],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        self._wire = Connection(ours.detach())
        self.end = weakref.finalize(self, _end, self._process, self._wire)
        self._start: Answer | None = None
        self._asked = 0
        self._send(message)

    @property
    def pid(self) -> int:
        """Number of the process."""
        return self._process.pid

    @property
    def is_ready(self) -> bool:
        """True when `start` will not wait."""
        return self._start is not None or self._wire.poll()

    def start(self) -> Answer:
        """Wait until the recogniser was made.

        :raises ChildDiedError: when it never will be.
        :raises SurtitleError: that which making it raised.
        """
        if self._start is None:
            self._start = self._receive(_START_PATIENCE_S)
        return self._start

    def ask(self, request: AudioChunk | None) -> Answer:
        """Have a chunk heard, or with None, the end of the audio.

        :raises ChildDiedError: when there is no answer.
        :raises SurtitleError: that which the recogniser raised.
        :raises RuntimeError: for any other exception in the child; its message is the child's traceback.
        """
        self.start()
        self._asked += 1
        self._send(pickle.dumps(request))
        hypotheses: list[Hypothesis] = []
        while True:
            answer = self._receive(self._patience_s)
            hypotheses += answer.hypotheses
            if answer.number == self._asked:
                return msgspec.structs.replace(answer, hypotheses=tuple(hypotheses))

    def _send(self, message: bytes) -> None:
        try:
            self._wire.send_bytes(message)
        except OSError as error:
            raise self._died() from error

    def _receive(self, patience_s: float) -> Answer:
        try:
            if not self._wire.poll(patience_s):
                raise ChildDiedError(f"gave no answer for {patience_s:g} seconds")
            answer: Answer = self._wire.recv()
        except (OSError, EOFError) as error:
            raise self._died() from error
        if answer.error is not None:
            raise answer.error
        return answer

    def _died(self) -> ChildDiedError:
        try:
            # Its end of the wire is closed a little before it can be waited for.
            code = self._process.wait(0.5)
        except subprocess.TimeoutExpired:
            return ChildDiedError("closed its end of the wire")
        return ChildDiedError(f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}")


def _end(process: subprocess.Popen[bytes], wire: Connection) -> None:
    wire.close()
    process.kill()
    process.wait()
    if process.stdin:
        process.stdin.close()


def main(wire_fd: int) -> None:
    """The child's end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    wire = Connection(wire_fd)
    recognizer: Recognizer | None = None
    try:
        for number in itertools.count():
            message = pickle.loads(wire.recv_bytes())
            try:
                if recognizer is None:
                    recognizer = message()
                    hypotheses: Sequence[Hypothesis] = ()
                else:
                    hypotheses = recognizer.finish() if message is None else recognizer.accept(message)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is the parent's to raise
                wire.send(Answer(number, error=_portable(error)))
            else:
                wire.send(Answer(number, tuple(hypotheses), _resident_bytes()))
    except (EOFError, OSError):
        pass
    finally:
        # Native libraries may crash while they are taken down; there is nothing left to lose.
        os._exit(0)


def _end_with_the_parent() -> None:
    while os.read(0, 1):
        pass
    os._exit(0)


def _portable(error: Exception) -> Exception:
    if isinstance(error, SurtitleError):
        return type(error)(*error.args)
    return RuntimeError("".join(traceback.format_exception(error)))


def _resident_bytes() -> int:
    try:
        return int(Path("/proc/self/statm").read_bytes().split()[1]) * _PAGE_BYTES
    except OSError:
        # Where that is not known, memory does not grow.
        return 0
