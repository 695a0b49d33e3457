"""One room: its secrets, its sound on the way to the recogniser, and whether all of it was captioned.

The clock of its stream advances with the speaker's sound. It may be slow or fast, and only a pause sets it.
"""

import hmac
import secrets
from base64 import urlsafe_b64encode
from collections import deque
from collections.abc import Callable, Iterator
from threading import Lock
from typing import NamedTuple

from operators.clock import LagClock
from operators.events import SAMPLE_RATE, AudioChunk
from operators.languages import Direction
from operators.sound import peak_dbfs

#: Bytes of a second of sound.
BYTES_PER_SECOND = 2 * SAMPLE_RATE
# Bytes of a chunk: 100 ms, as from a microphone.
_CHUNK_BYTES = BYTES_PER_SECOND // 10
# A speaker who sends nothing for so many seconds has paused: the clock advances meanwhile.
_GAP_S = 1.0
# Maximum seconds of sound on the way through the recogniser; more waits in the room.
_IN_FLIGHT_S = 2.0


class RoomLimits(NamedTuple):
    #: Maximum number of rooms at the same time.
    rooms: int = 4
    #: Seconds without audible sound after which a room ends, and the peak level below which sound is silence.
    silence_s: float = 600.0
    silence_dbfs: float = -50.0
    #: Seconds in which the speaker may come back after a connection was lost.
    linger_s: float = 60.0
    #: Bytes a second at which sound is taken; more waits at the speaker.
    bytes_per_second: int = 2 * BYTES_PER_SECOND
    #: Seconds of sound that wait here while the recogniser is busy; more waits at the speaker.
    buffer_s: float = 30.0
    #: Seconds for the opening message.
    opening_s: float = 10.0


class Room:
    """A room of one speaker. Methods for the speaker take the lock; for all others, the registry holds it."""

    def __init__(
        self,
        name: str,
        directions: tuple[Direction, ...],
        key: str | None,
        *,
        limits: RoomLimits,
        lock: Lock,
        clock: LagClock,
        now: Callable[[], float],
    ) -> None:
        """Open a room; ``directions`` are from the spoken language to each language of captions."""
        self._limits, self._lock, self._clock, self._now = limits, lock, clock, now
        self.name = name
        #: The name of its stream. A name that is used again gets another stream.
        self.stream = f"{name}.{secrets.token_hex(3)}"
        self.directions = directions
        # Number of languages of captions.
        self._languages = len({one.target for one in directions})
        #: When it was opened, on the clock of its stream.
        self.began_s = now()
        #: The key allows speaking; the view, which is derived from it, allows reading.
        self.key = key or secrets.token_urlsafe(16)
        digest = hmac.digest(self.key.encode("ascii"), b"surtitle: view of a room", "sha256")
        self.view = urlsafe_b64encode(digest[:16]).rstrip(b"=").decode()
        #: Bytes of sound that were accepted.
        self.received = 0
        #: When sound above the threshold of silence was last received.
        self.heard_s = self.began_s
        #: Whether the speaker has finished, and whether the server has.
        self.is_ending = self.is_closed = False
        self._waiting: deque[AudioChunk] = deque()
        self._waiting_bytes = self._in_flight = 0
        #: The end of the accepted sound on the stream's clock.
        self.end_s = 0.0
        # When the last of it was received.
        self._received_s = 0.0
        #: Finals so far, and the number of sentences once all are known.
        self.finals = 0
        self.sentences: int | None = None

    @property
    def waiting_s(self) -> float:
        """Seconds of accepted sound that the recogniser has not processed."""
        return (self._waiting_bytes + self._in_flight) / BYTES_PER_SECOND

    @property
    def is_over(self) -> bool:
        """Whether each sentence has its final in each language, and no more will come."""
        return self.sentences is not None and self.finals >= self.sentences * self._languages

    def accept(self, pcm: bytes, came_s: float) -> bool:
        """Take sound that came at ``came_s``; False if there is no space for it yet."""
        with self._lock:
            if self.is_closed or self.is_ending or self.waiting_s >= self._limits.buffer_s:
                return False
            before_s = self.end_s
            if came_s - self._received_s > _GAP_S or self.received == 0:
                duration_s = len(pcm) / BYTES_PER_SECOND
                self.end_s = max(self.end_s, self._clock.at(self.stream, came_s) - duration_s, 0.0)
            self._append(pcm, follows=self.end_s == before_s)
            self._clock.heard(self.stream, self.end_s, came_s)
            self._waiting_bytes += len(pcm)
            self.received += len(pcm)
            self._received_s = self._now()
            if peak_dbfs(pcm) > self._limits.silence_dbfs:
                self.heard_s = self._received_s
            return True

    def _append(self, pcm: bytes, *, follows: bool) -> None:
        """Add sound in chunks; ``follows`` says that there is no gap before it."""
        start_s = self.end_s
        if follows and self._waiting and 0 < len(self._waiting[-1].pcm) < _CHUNK_BYTES:
            # Each chunk is work for the flow, and each message may be as short as a sample.
            begun = self._waiting.pop()
            pcm, start_s = begun.pcm + pcm, begun.start_s
        for at in range(0, len(pcm), _CHUNK_BYTES):
            part = pcm[at : at + _CHUNK_BYTES]
            self._waiting.append(AudioChunk(stream=self.stream, start_s=start_s, pcm=part))
            start_s += len(part) / BYTES_PER_SECOND
        self.end_s = start_s

    def pause(self) -> None:
        """Finish the sound so far; the speaker may come back."""
        with self._lock:
            # A second pause would change nothing, and a speaker may come and go any number of times.
            is_pausing = bool(self._waiting) and self._waiting[-1].pauses
            if not self.is_ending and not is_pausing:
                self._waiting.append(AudioChunk(stream=self.stream, start_s=self.end_s, pcm=b"", pauses=True))

    def end(self) -> None:
        """Finish the sound; the room ends after its last caption."""
        with self._lock:
            if not self.is_ending:
                self.is_ending = True
                self._waiting.append(
                    AudioChunk(stream=self.stream, start_s=self.end_s, pcm=b"", is_last=True)
                )

    def take(self) -> Iterator[AudioChunk]:
        """The chunks that the recogniser can take now; all of them when the server ends."""
        while self._waiting and (self.is_closed or self._in_flight < _IN_FLIGHT_S * BYTES_PER_SECOND):
            chunk = self._waiting.popleft()
            self._waiting_bytes -= len(chunk.pcm)
            self._in_flight += len(chunk.pcm)
            yield chunk

    def processed(self, chunk: AudioChunk) -> None:
        self._in_flight -= len(chunk.pcm)
