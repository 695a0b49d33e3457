"""Recognisers that go wrong in the ways in which native engines do; importable by a child process."""

import os
import signal
import threading
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from typing_extensions import override

from operators.errors import InputError
from operators.events import SAMPLE_RATE, AudioChunk
from operators.recognizers.protocol import Hypothesis, Recognizer
from tests.operators.recognizers.speaking import ToneRecognizer

_TRIGGER = 12345
#: A tenth of a second that makes a `FaultyRecognizer` go wrong.
TRIGGER = np.full(SAMPLE_RATE // 10, _TRIGGER, "<i2").tobytes()


class FaultyRecognizer(ToneRecognizer):
    """Does what ``fault`` names when it hears `TRIGGER`, which is a tone like others to its kind."""

    def __init__(self, fault: str) -> None:
        super().__init__()
        self._fault = fault
        self._kept: list[bytes] = []

    @override
    def accept(self, chunk: AudioChunk) -> Sequence[Hypothesis]:
        if chunk.pcm[:2] == TRIGGER[:2]:
            _FAULTS[self._fault](self)
        return super().accept(chunk)

    def leak(self) -> None:
        self._kept.append(b"x" * 20_000_000)


def _raise(_recognizer: FaultyRecognizer) -> None:
    raise ValueError("it went wrong")


def _print(_recognizer: FaultyRecognizer) -> None:
    for fd in (1, 2):
        os.write(fd, b"native noise\n")


_FAULTS: dict[str, Callable[[FaultyRecognizer], object]] = {
    "crash": lambda _recognizer: os.kill(os.getpid(), signal.SIGSEGV),
    "hang": lambda _recognizer: threading.Event().wait(),
    "leak": FaultyRecognizer.leak,
    "raise": _raise,
    "print": _print,
    "signal the parent": lambda _recognizer: os.kill(os.getppid(), signal.SIGUSR1),
}

faulty = partial(partial, FaultyRecognizer)


def no_model() -> Recognizer:
    raise InputError("model: there is no such folder")


def crash_at_once() -> Recognizer:
    os._exit(3)
