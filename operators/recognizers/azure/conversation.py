"""One connection, from its events and the clock alone: what is said on it, and when and why it is over."""

from collections.abc import Callable
from enum import Enum, auto
from typing import NamedTuple

from operators.recognizers.azure.patience import Patience
from operators.recognizers.azure.utterances import ServiceUtterance, Utterances
from operators.recognizers.protocol import Hypothesis

# As long as a service far away may take to be there.
_CONNECT_S = 10.0
# The reason for the end of a connection comes right after it, or never.
_REASON_S = 0.3
# In silence a service has nothing to say: that its connection stands so long is enough.
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
    """The connection is gone; why, may follow."""


class Result(NamedTuple):
    """What the service said; in samples from the first that this connection was given."""

    text: str
    begin: int
    end: int
    is_final: bool


class Over(NamedTuple):
    """The connection has said all that it will: without a failure, everything."""

    failure: Failure | None


Event = Connected | Disconnected | Result | Over


class Conversation:
    """One connection's course.

    Args:
        utterances: The stream's; they outlive the connection.
        patience: The stream's.
        base: Position of the first sample that the connection is given.
        now: The present in seconds.
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
        #: Whether it was worth while, so that the next one may come soon: it was answered, or stood for long.
        self.is_proven = False
        #: Whether the service was told that no more audio comes; whoever tells it says so here.
        self.is_audio_over = False
        self.is_over = False
        self.failure: Failure | None = None

    def begin(self, base: int) -> None:
        """Say where the audio that the connection is given begins, now that the first of it is sent."""
        self._base = base

    def take(self, event: Event, heard: int) -> list[Hypothesis]:
        """Hypotheses that come of an event; none after the connection is over.

        Args:
            heard: Position where the stream's audio ends by now: no result can lie beyond.
        """
        if self.is_over:
            return []
        if isinstance(event, Result):
            return self._hear(event, heard)
        if isinstance(event, Over):
            # All is said only when all was heard.
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
        """End it when what had to come has not."""
        self.is_proven = self.is_proven or self._now() - self._connected_s >= _PROVEN_S
        if self._now() >= self._deadline_s:
            self._end(Failure.LOST)
        elif self.is_connected and self._patience.is_over:
            self._patience.gave_up()
            self._end(Failure.SILENT)

    def _hear(self, result: Result, heard: int) -> list[Hypothesis]:
        self.is_proven = True
        self._patience.answered()
        if self._base + result.begin > heard:
            # Speech that nobody has sent: taken for something said at the end of what was, it would end that.
            return []
        # Whatever numbers a service makes up, they lie in the audio that it was given.
        begin, end = (max(self._base, min(self._base + at, heard)) for at in (result.begin, result.end))
        return self._utterances.take(ServiceUtterance(result.text, begin, end, result.is_final))

    def _end(self, failure: Failure | None) -> None:
        if not self.is_over:
            self.is_over = True
            self.failure = failure
