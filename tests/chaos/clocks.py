"""A wall clock that is set again and again, by seconds or days, while a run is disturbed by signals."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from tests.chaos import rooms, signals
from tests.chaos.trial import Trial
from tests.stepped_clock import SteppedClock

_STEPS_S = (1, 60, 3600, 86_400)


def attempt(trial: Trial) -> None:
    """Try what signals do with any input, or strangers in rooms, while the clock is set: all has to hold."""
    folder = trial.folder / "clock"
    folder.mkdir()
    clock = SteppedClock(folder)
    trial.environment |= clock.environment
    with _set_again_and_again(clock, trial.seed):
        trial.random.choice((signals, signals, rooms)).attempt(trial)


@contextmanager
def _set_again_and_again(clock: SteppedClock, seed: int) -> Iterator[None]:
    random, is_over = Random(f"clock {seed}"), threading.Event()

    def turn() -> None:
        while not is_over.wait(random.uniform(0.0, 2.0)):
            clock.set(random.choice((-1, 0, 1)) * random.choice(_STEPS_S))

    thread = threading.Thread(target=turn)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
