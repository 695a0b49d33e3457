"""Ctrl-C, SIGTERM and SIGHUP, which Windows calls SIGBREAK, set a flag, whatever the main thread is doing.

Python runs the handler of a signal on the main thread, between two instructions. While that thread waits in
native code, for a lock or for another process, the handler has to wait, too, unless the signal interrupts the
wait. A signal just before the wait does not interrupt it. Therefore a separate thread listens.
"""

import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event as Flag
from types import FrameType

# What the end of a terminal sends.
if sys.platform == "win32":
    _HANGUP = signal.SIGBREAK
else:
    _HANGUP = signal.SIGHUP
# Seconds within which a responsive main thread runs the handler of a signal.
_REACTS_S = 5.0


@contextmanager
def interrupt_sets(stop: Flag, *, ends_deaf: bool = False) -> Iterator[None]:
    """Let Ctrl-C, SIGTERM and SIGHUP set ``stop`` instead of raising at an arbitrary point of the program.

    A second Ctrl-C or SIGTERM ends the process at once. A terminal that is closed sends SIGHUP, often more
    than once. If SIGHUP is ignored, as under ``nohup``, it stays ignored. For the main thread only.

    An exception that is raised while llama.cpp calls back into Python would be lost.

    Args:
        stop: Set on another thread.
        ends_deaf: Whether a signal ends the process if the main thread does not react to it.
    """
    listener = _Listener(stop, ends_deaf=ends_deaf)
    try:
        yield
    finally:
        listener.close()


def let_interrupt_set(stop: Flag) -> None:
    """Like `interrupt_sets`, but for the rest of the process."""
    _Listener(stop, ends_deaf=False)


class _Listener:
    def __init__(self, stop: Flag, *, ends_deaf: bool) -> None:
        self._stop = stop
        self._ends_deaf = ends_deaf
        #: Whether the main thread has run a handler.
        self._is_handled = Flag()
        self._numbers = {signal.SIGINT, signal.SIGTERM}
        if signal.getsignal(_HANGUP) is not signal.SIG_IGN:
            self._numbers.add(_HANGUP)
        self._receiver, self._sender = socket.socketpair()
        # The signal handler must not block.
        self._sender.setblocking(False)
        self._thread = threading.Thread(target=self._listen, name="signals", daemon=True)
        self._thread.start()
        self._fd_before = signal.set_wakeup_fd(self._sender.fileno(), warn_on_full_buffer=False)
        self._before = {number: signal.signal(number, self._handle) for number in self._numbers}

    def close(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._fd_before)
        self._sender.close()
        self._thread.join()
        self._receiver.close()

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        self._is_handled.set()

    def _listen(self) -> None:
        while number := self._receiver.recv(1):
            if number[0] in self._numbers:
                self._interrupt(number[0])

    def _interrupt(self, number: int) -> None:
        if self._stop.is_set() and number != _HANGUP:
            if os.isatty(1):
                os.write(1, b"\r\n")  # keep the text in front of the cursor
            os._exit(128 + number)  # second request: do not even wait for the sinks
        self._stop.set()
        if self._ends_deaf:
            timer = threading.Timer(_REACTS_S, self._end_if_deaf, (number,))
            timer.daemon = True
            timer.start()

    def _end_if_deaf(self, number: int) -> None:
        if not self._is_handled.is_set():
            os._exit(128 + number)
