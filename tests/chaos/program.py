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
from collections.abc import Callable
from random import Random
from types import SimpleNamespace
from typing import Any

from operators.events import SAMPLE_RATE
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


def with_toys() -> None:
    """Put toys where the models and the microphone are."""
    import flows.captions.parts
    from connectors.microphone import devices
    from flows.captions.runner import caption
    from tests.recovering import ToyResources

    sound = Microphone()
    replaced: list[tuple[Any, str, Callable[..., Any]]] = [
        (flows.captions.parts, "check_recognizer", lambda *_given, **_how: None),
        (devices, "_sounddevice", lambda: sound),
    ]
    assert caption.__kwdefaults__ is not None
    caption.__kwdefaults__["make_resources"] = ToyResources
    for module, name, toy in replaced:
        assert hasattr(module, name)
        setattr(module, name, toy)


if __name__ == "__main__":
    with_toys()
    sys.argv[0] = "surtitle"
    main()
