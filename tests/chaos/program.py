"""``surtitle`` with toys for its models and its microphone: ``python -m tests.chaos.program live``.

Everything else is the real command line.
"""

import faulthandler
import os
import signal
import sys

from flows.main import end_on_interrupt, main

if __name__ == "__main__":
    # The program does so while it is imported.
    end_on_interrupt()
    # Where its threads are, for who waits for its end in vain. While a flow runs, descriptor 2 leads nowhere.
    faulthandler.register(signal.SIGUSR2, os.fdopen(os.dup(2), "w"))

import threading
import time
from collections.abc import Callable, Sequence
from random import Random
from types import SimpleNamespace
from typing import Any

from operators.events import SAMPLE_RATE, AudioChunk
from operators.recognizers.protocol import Hypothesis
from tests.fake_sound import FakeSound, device

_BLOCK = SAMPLE_RATE // 10


class Microphone(FakeSound):
    """A sound system with one microphone, into which somebody makes noise for ever."""

    def __init__(self) -> None:
        super().__init__(device("noise", 1, SAMPLE_RATE))

    def RawInputStream(self, **options: Any) -> SimpleNamespace:  # noqa: N802 - sounddevice's name
        over = threading.Event()

        def record() -> None:
            random, began, blocks = Random(3), time.monotonic(), 0
            nothing = SimpleNamespace(input_overflow=False)
            while not over.wait(max(0.0, began + (blocks + 1) / 10 - time.monotonic())):
                options["callback"](random.randbytes(2 * _BLOCK), _BLOCK, None, nothing)
                blocks += 1

        def end(**_options: Any) -> None:
            over.set()

        start = threading.Thread(target=record, daemon=True).start
        return SimpleNamespace(start=start, abort=end, close=end, active=True)


class Counting:
    """A recogniser that hears a word in every half second of sound, and a segment in every four words."""

    def __init__(self) -> None:
        self._samples = 0
        self._segment, self._words = 0, 0
        self._start_s = self._end_s = 0.0

    def accept(self, chunk: AudioChunk) -> Sequence[Hypothesis]:
        made = []
        self._samples += len(chunk.pcm) // 2
        while self._samples >= SAMPLE_RATE // 2:
            self._samples -= SAMPLE_RATE // 2
            made.append(self._hear(chunk))
        return made

    def _hear(self, chunk: AudioChunk) -> Hypothesis:
        if not self._words:
            self._start_s = chunk.start_s
        self._words += 1
        self._end_s = chunk.start_s + chunk.duration_s
        made = self._said(is_final=self._words == 4)
        if made.is_final:
            self._segment, self._words = self._segment + 1, 0
        return made

    def _said(self, *, is_final: bool) -> Hypothesis:
        text = " ".join("abcdef"[(self._segment + word) % 6] for word in range(self._words))
        return Hypothesis(
            segment=self._segment, text=text, is_final=is_final, start_s=self._start_s, end_s=self._end_s
        )

    def finish(self) -> Sequence[Hypothesis]:
        return [self._said(is_final=True)] if self._words else []

    def close(self) -> None:
        """Nothing is held."""


def with_toys() -> None:
    """Put toys where the models and the microphone are."""
    import flows.captions.parts
    import flows.captions.runner
    from connectors.microphone import devices
    from operators.recognizers.protocol import Recognizer
    from tests.recovering import ToyShared

    class _Shared(ToyShared):
        def recognizer(self, _stream: str) -> Recognizer:
            return Counting()

    sound = Microphone()
    replaced: list[tuple[Any, str, Callable[..., Any]]] = [
        (flows.captions.parts, "check_recognizer", lambda *_given, **_how: None),
        (devices, "_sounddevice", lambda: sound),
    ]
    for module, name, toy in replaced:
        assert hasattr(module, name)
        setattr(module, name, toy)
    how = flows.captions.runner.caption.__kwdefaults__
    assert how is not None
    assert "make_shared" in how
    how["make_shared"] = _Shared


if __name__ == "__main__":
    with_toys()
    sys.argv[0] = "surtitle"
    main()
