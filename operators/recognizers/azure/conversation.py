"""The state of one connection, derived from its events and the clock: results, waits, and its end.

After a lost connection the service hears the audio since the last final again. The open segment continues
under its number once the new connection has come as far as the old one; until then a better text is already
on display.
"""

from collections.abc import Callable
from enum import Enum, auto
from random import uniform
from typing import NamedTuple

import msgspec
import numpy as np

from operators.events import SAMPLE_RATE
from operators.recognizers.protocol import Hypothesis

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


class ServiceUtterance(NamedTuple):
    """A service's hypothesis for an utterance; positions are samples of the stream, begin ≤ end."""

    text: str
    begin: int
    end: int
    is_final: bool


class _Open(msgspec.Struct):
    segment: int
    text: str
    begin: int
    end: int
    start_s: float
    end_s: float
    #: Whether it comes from a lost connection, and the current one has not come as far yet.
    is_replayed: bool = False


class Utterances:
    """Numbers one stream's utterances and delivers each of them once.

    Args:
        start_s: When the sample at a position sounded, on the stream's clock.
        end_s: When the sample before a position ended.
    """

    def __init__(self, start_s: Callable[[int], float], end_s: Callable[[int], float]) -> None:
        self._start_s = start_s
        self._end_s = end_s
        self._next = 0
        self._open: _Open | None = None
        #: Everything before this position has its final, or contains no speech.
        self.confirmed = 0

    def resume(self, oldest: int) -> list[Hypothesis]:
        """Further results come from a new connection, which hears again from `confirmed` on.

        Args:
            oldest: Position of the oldest audio left. A segment whose beginning is gone ends.
        """
        if self._open is not None and self._open.begin < oldest:
            return self.finish()
        if self._open is not None:
            self._open.is_replayed = True
        return []

    def take(self, said: ServiceUtterance) -> list[Hypothesis]:
        """The hypotheses from a result of the service."""
        said = said._replace(text=said.text.strip())
        # A second final for the same speech, or an empty result.
        if (said.text and said.end <= self.confirmed) or not (said.text or said.is_final):
            return []
        hypotheses: list[Hypothesis] = []
        if self._open is not None and self._is_later(said, self._open):
            hypotheses += self.finish()
        if self._open is None:
            if said.text:
                self._begin(said)
        elif self._is_behind(said, self._open):
            return []
        if self._open is not None:
            hypotheses.append(self._revise(self._open, said))
        if said.is_final:
            self._open = None
            self.confirmed = max(self.confirmed, said.end)
        return hypotheses

    def finish(self) -> list[Hypothesis]:
        """The final of the open segment, with its last text."""
        if self._open is None:
            return []
        last, self._open = self._open, None
        self.confirmed = max(self.confirmed, last.end)
        return [_hypothesis(last, is_final=True)]

    @staticmethod
    def _is_later(said: ServiceUtterance, last: _Open) -> bool:
        """Whether it is another utterance, although the open one has no final yet."""
        return bool(said.text) and said.begin >= last.end and said.begin > last.begin

    @staticmethod
    def _is_behind(said: ServiceUtterance, last: _Open) -> bool:
        """Whether a new connection has not yet come as far as the old one."""
        if not last.is_replayed:
            return False
        return said.end <= last.begin and not said.text if said.is_final else said.end < last.end

    def _begin(self, said: ServiceUtterance) -> None:
        start_s = self._start_s(said.begin)
        self._open = _Open(self._next, "", said.begin, said.begin, start_s, start_s)
        self._next += 1

    def _revise(self, last: _Open, said: ServiceUtterance) -> Hypothesis:
        # A final without text ends the segment with its last text: `PartialNumbering` ensures that.
        last.text = said.text
        last.end = max(said.end, last.begin)
        last.end_s = max(last.start_s, self._end_s(last.end))
        last.is_replayed = False
        return _hypothesis(last, is_final=said.is_final)


def _hypothesis(last: _Open, *, is_final: bool) -> Hypothesis:
    return Hypothesis(
        segment=last.segment, text=last.text, is_final=is_final, start_s=last.start_s, end_s=last.end_s
    )


# Time that a distant service may take to connect.
_CONNECT_S = 10.0
# The reason for a disconnection follows immediately, or never.
_REASON_S = 0.3
# During silence a service sends nothing, so a connection that lasts this long counts as proven.
_PROVEN_S = 60.0


class Failure(Enum):
    """Why a connection is over before its audio is."""

    LOST = auto()
    STOPPED = auto()
    SILENT = auto()
    BUSY = auto()
    KEY = auto()
    REQUEST = auto()


class Connected(NamedTuple):
    """The service is there."""


class Disconnected(NamedTuple):
    """The connection is gone; the reason may follow."""


class Result(NamedTuple):
    """A result of the service, in samples counted from the first one sent over this connection."""

    text: str
    begin: int
    end: int
    is_final: bool


class Over(NamedTuple):
    """No more results will come; without a failure, they are complete."""

    failure: Failure | None


Event = Connected | Disconnected | Result | Over


class Conversation:
    """The course of one connection.

    Args:
        utterances: The stream's utterances; they outlive the connection.
        patience: The stream's patience.
        base: Position of the first sample sent over the connection.
        now: Current time in seconds.
    """

    def __init__(
        self, utterances: Utterances, patience: Patience, base: int, now: Callable[[], float]
    ) -> None:
        self._utterances = utterances
        self._patience = patience
        self._base = base
        self._now = now
        self._deadline_s = now() + _CONNECT_S
        self.is_connected = False
        self._connected_s = float("inf")
        #: Whether it succeeded (got answers or lasted long), so that the next attempt may follow soon.
        self.is_proven = False
        #: Whether the service was told that no more audio comes; set by the caller.
        self.is_audio_over = False
        self.is_over = False
        self.failure: Failure | None = None

    def begin(self, base: int) -> None:
        """Set where the connection's audio begins, now that its first samples are sent."""
        self._base = base

    def take(self, event: Event, heard: int) -> list[Hypothesis]:
        """The hypotheses from an event; none after the connection is over.

        Args:
            heard: Position of the current end of the stream's audio: no result can lie beyond.
        """
        if self.is_over:
            return []
        if isinstance(event, Result):
            return self._receive(event, heard)
        if isinstance(event, Over):
            # The results are complete only if all audio was heard.
            self._end(event.failure or (None if self.is_audio_over else Failure.STOPPED))
        elif isinstance(event, Disconnected):
            self._deadline_s = self._now() + _REASON_S
        elif not self.is_connected:
            self.is_connected = True
            self._connected_s = self._now()
            self._deadline_s = float("inf")
            self._patience.begin()
        return []

    def look_at_clock(self) -> None:
        """End the connection if an expected event has not come."""
        self.is_proven = self.is_proven or self._now() - self._connected_s >= _PROVEN_S
        if self._now() >= self._deadline_s:
            self._end(Failure.LOST)
        elif self.is_connected and self._patience.is_over:
            self._patience.gave_up()
            self._end(Failure.SILENT)

    def _receive(self, result: Result, heard: int) -> list[Hypothesis]:
        self.is_proven = True
        self._patience.answered()
        if self._base + result.begin > heard:
            # Speech that was never sent: placing it at the end of the audio would end the current utterance.
            return []
        # Whatever positions a service reports, they are limited to the audio that it was sent.
        begin, end = (max(self._base, min(self._base + at, heard)) for at in (result.begin, result.end))
        return self._utterances.take(ServiceUtterance(result.text, begin, end, result.is_final))

    def _end(self, failure: Failure | None) -> None:
        if not self.is_over:
            self.is_over = True
            self.failure = failure
