"""The state of one connection, derived from its events and the clock: results, and when and why it ends."""

from collections.abc import Callable
from enum import Enum, auto
from typing import NamedTuple

from operators.recognizers.azure.patience import Patience
from operators.recognizers.azure.utterances import ServiceUtterance, Utterances
from operators.recognizers.protocol import Hypothesis

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
