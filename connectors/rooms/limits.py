"""What a speaker may take of the server, and how fast sound is taken. Pure."""

from typing import NamedTuple

from operators.events import SAMPLE_RATE

#: Bytes of a second of sound.
BYTES_PER_SECOND = 2 * SAMPLE_RATE


class Limits(NamedTuple):
    """The limits of one server of rooms."""

    #: Maximum number of rooms at the same time.
    rooms: int = 4
    #: Seconds without audible sound after which a room ends, and the peak level below which sound is silence.
    silence_s: float = 600.0
    silence_dbfs: float = -50.0
    #: Seconds in which the speaker may come back after a connection was lost.
    linger_s: float = 60.0
    #: Maximum bytes of one message.
    message_bytes: int = 65_536
    #: Bytes a second at which sound is taken; more waits at the speaker.
    bytes_per_second: int = 2 * BYTES_PER_SECOND
    #: Seconds of sound that wait here while the recogniser is busy; more waits at the speaker.
    buffer_s: float = 30.0
    #: Seconds for the opening message.
    opening_s: float = 10.0


class Pace:
    """Decides how long to wait before the next sound is taken (a token bucket)."""

    def __init__(self, bytes_per_second: float, burst_s: float, now_s: float) -> None:
        """``burst_s`` seconds' worth of bytes may come at once, as after a reconnection."""
        self._rate = bytes_per_second
        self._most = bytes_per_second * burst_s
        self._left = self._most
        self._at_s = now_s

    def wait_s(self, count: int, now_s: float) -> float:
        """Take ``count`` bytes; return the seconds to wait before taking more."""
        self._left = min(self._most, self._left + self._rate * (now_s - self._at_s)) - count
        self._at_s = now_s
        return max(0.0, -self._left / self._rate)
