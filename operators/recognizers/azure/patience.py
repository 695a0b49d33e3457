"""How long to wait: for an answer to speech, and between two attempts to connect."""

from collections.abc import Callable
from random import uniform

import numpy as np

from operators.events import SAMPLE_RATE

FIRST_WAIT_S = 0.5
# Amplitude of 16-bit samples: about -44 dB; speech from a microphone is louder.
_SILENCE = 200.0
# Speech is this much louder than the noise around it, which is tracked by its minimum.
_OVER_NOISE = 3.0
_RISE_PER_S = 1.1
_MIN_NOISE = 10.0
# A connection that never answered gets more time, up to a limit.
_MAX_DOUBLINGS = 3


class Waits:
    """Seconds between attempts: 0.5, 1, 2, 4 and so on, each slightly randomised.

    The variation keeps many recognisers that lost the same service from returning at the same moment.

    Args:
        longest_s: Maximum wait.
    """

    def __init__(self, longest_s: float, random: Callable[[float, float], float] = uniform) -> None:
        self._longest_s = longest_s
        self._random = random
        self._next_s = min(FIRST_WAIT_S, longest_s)

    @property
    def is_longest(self) -> bool:
        """Whether the wait has its maximum length."""
        return self._next_s >= self._longest_s

    def next_s(self) -> float:
        """How long to wait now, plus or minus a fifth, but never longer than the maximum."""
        wait_s = self._next_s
        self._next_s = min(2 * wait_s, self._longest_s)
        return min(wait_s * self._random(0.8, 1.2), self._longest_s)

    def reset(self) -> None:
        """Start again with the shortest wait, because the service has answered."""
        self._next_s = min(FIRST_WAIT_S, self._longest_s)


class Patience:
    """Decides when a service that gets speech should have answered.

    Args:
        answer_s: Seconds without an answer since the first sound that may be speech, with at least half as
            many seconds of such sound. They double, up to eight times, for a connection after one that never
            answered: it may be music.
        now: Current time in seconds.
    """

    def __init__(self, answer_s: float, now: Callable[[], float]) -> None:
        self._answer_s = answer_s
        self._now = now
        self._noise = float("inf")
        self._loud_s = 0.0
        #: When the service got the first sound since its last answer; None if there is none.
        self._since_s: float | None = None
        self._doublings = 0

    def begin(self) -> None:
        """A new connection is open."""
        self._loud_s = 0.0
        self._since_s = None

    def answered(self) -> None:
        """The service has answered."""
        self._doublings = 0
        self.begin()

    def gave_up(self) -> None:
        """The connection was given up because it did not answer."""
        self._doublings = min(self._doublings + 1, _MAX_DOUBLINGS)

    def add_audio(self, pcm: bytes) -> None:
        """The service gets this audio: 16-bit samples."""
        samples = np.frombuffer(pcm, "<i2").astype(np.float32)
        # In pieces of a tenth of a second, because a long piece sent again always contains something loud.
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
