"""How long to wait: for an answer to speech, and between two attempts to connect."""

from collections.abc import Callable
from random import uniform

import numpy as np

from operators.events import SAMPLE_RATE

FIRST_WAIT_S = 0.5
# Of 16-bit samples: some -44 dB, under which no microphone's speech lies.
_SILENCE = 200.0
# Speech is this much louder than the noise around it, whose loudness is followed by its minimum.
_OVER_NOISE = 3.0
_RISE_PER_S = 1.1
_MIN_NOISE = 10.0
# A connection that never answered is given more time, but not ever more.
_MAX_DOUBLINGS = 3


class Waits:
    """Seconds between attempts: 0.5, 1, 2, 4 and so on, each a little random.

    Many recognisers that lost the same service so come back to it one after the other.

    Args:
        longest_s: The longest of them.
    """

    def __init__(self, longest_s: float, random: Callable[[float, float], float] = uniform) -> None:
        self._longest_s = longest_s
        self._random = random
        self._next_s = min(FIRST_WAIT_S, longest_s)

    @property
    def is_longest(self) -> bool:
        """Whether they grow no more."""
        return self._next_s >= self._longest_s

    def next_s(self) -> float:
        """How long to wait now, give or take a fifth, but never longer than the longest."""
        wait_s = self._next_s
        self._next_s = min(2 * wait_s, self._longest_s)
        return min(wait_s * self._random(0.8, 1.2), self._longest_s)

    def reset(self) -> None:
        """Begin again with the shortest, as the service has answered."""
        self._next_s = min(FIRST_WAIT_S, self._longest_s)


class Patience:
    """Knows when a service that is given speech should have said something.

    Args:
        answer_s: Seconds without an answer from the first sound on that may be speech, and at least half as
            many seconds of such sound. They double, up to eight times, for a connection after one that never
            answered: it may be music.
        now: The present in seconds.
    """

    def __init__(self, answer_s: float, now: Callable[[], float]) -> None:
        self._answer_s = answer_s
        self._now = now
        self._noise = float("inf")
        self._loud_s = 0.0
        #: When the first sound since the last answer was given to the service; nothing while there is none.
        self._since_s: float | None = None
        self._doublings = 0

    def begin(self) -> None:
        """A new connection is there."""
        self._loud_s = 0.0
        self._since_s = None

    def answered(self) -> None:
        """The service has said something."""
        self._doublings = 0
        self.begin()

    def gave_up(self) -> None:
        """The connection was given up because it did not answer."""
        self._doublings = min(self._doublings + 1, _MAX_DOUBLINGS)

    def hear(self, pcm: bytes) -> None:
        """The service is given this audio: 16-bit samples."""
        samples = np.frombuffer(pcm, "<i2").astype(np.float32)
        # In pieces of a tenth of a second: of all that is sent again at once, some is loud.
        for at in range(0, len(samples), SAMPLE_RATE // 10):
            piece = samples[at : at + SAMPLE_RATE // 10]
            seconds = len(piece) / SAMPLE_RATE
            loudness = float(np.sqrt(np.mean(piece * piece)))
            self._noise = min(loudness, max(self._noise, _MIN_NOISE) * _RISE_PER_S**seconds)
            if loudness > max(_SILENCE, _OVER_NOISE * self._noise):
                self._loud_s += seconds
                self._since_s = self._now() if self._since_s is None else self._since_s

    @property
    def is_over(self) -> bool:
        """Whether the service has been silent for too long."""
        limit_s = self._answer_s * (1 << self._doublings)
        return (
            self._since_s is not None
            and self._loud_s >= limit_s / 2
            and self._now() - self._since_s >= limit_s
        )
