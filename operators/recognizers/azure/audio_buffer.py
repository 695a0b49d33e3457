"""The latest audio of a stream, kept for sending again, and the mapping from its samples to its clock.

A position counts the samples of a stream from the first one, without gaps, as a service hears them.
"""

from bisect import bisect_right
from collections import deque

from operators.events import SAMPLE_RATE, AudioChunk

# A larger difference is not due to the rounding of a chunk's time.
_SHIFT_S = 0.001
# Maximum number of clock jumps; far more than in any audio worth keeping.
_MAX_ANCHORS = 4096


class AudioBuffer:
    """The audio of one stream, from the oldest that may be needed again.

    Args:
        longest_s: Maximum seconds of audio to keep.
    """

    def __init__(self, longest_s: float) -> None:
        self._longest = round(longest_s * SAMPLE_RATE)
        self._pieces: deque[bytes] = deque()
        #: Positions of the oldest kept sample, of the next one to send, and of the next one to come. If more
        #: was dropped, what is sent begins later than where it was rewound to.
        self.begin = self.sent = self.heard = 0
        #: Pairs of a position and its time on the clock; a new one wherever audio is missing.
        self._anchors: list[tuple[int, float]] = []
        self._dropped = 0

    def append(self, chunk: AudioChunk) -> None:
        """Keep a chunk, and drop the oldest ones beyond the limit."""
        pcm = chunk.pcm[: len(chunk.pcm) // 2 * 2]
        if not self._anchors or abs(self._at(self._anchors[-1], self.heard) - chunk.start_s) > _SHIFT_S:
            self._anchors = [*self._anchors[1 - _MAX_ANCHORS :], (self.heard, chunk.start_s)]
        if pcm:
            self._pieces.append(pcm)
            self.heard += len(pcm) // 2
        while self.heard - self.begin > self._longest:
            self._drop_piece()

    def forget(self, position: int) -> None:
        """Drop the audio before a position, which will not be needed again."""
        while self._pieces and self.begin + len(self._pieces[0]) // 2 <= min(position, self.sent):
            self._drop_piece()

    def rewind(self, position: int) -> int:
        """Send again from a position on, or from the oldest sample left; returns where that is."""
        self.sent = min(max(position, self.begin), self.heard)
        return self.sent

    def take_unsent(self) -> bytes:
        """The audio to send; it counts as sent from now on."""
        if self.sent >= self.heard:
            return b""
        pieces, at = [], self.heard
        for piece in reversed(self._pieces):
            if at <= self.sent:
                break
            at -= len(piece) // 2
            pieces.append(piece[max(0, 2 * (self.sent - at)) :])
        self.sent = self.heard
        return b"".join(reversed(pieces))

    @property
    def has_unsent(self) -> bool:
        """Whether there is audio to send."""
        return self.sent < self.heard

    def take_lost_s(self) -> float:
        """Seconds of audio dropped unsent since the last call."""
        dropped, self._dropped = self._dropped, 0
        return dropped / SAMPLE_RATE

    def start_s(self, position: int) -> float:
        """When the sample at a position sounded, on the stream's clock."""
        if not self._anchors:
            return 0.0
        place = bisect_right(self._anchors, position, key=lambda anchor: anchor[0])
        return max(0.0, self._at(self._anchors[max(0, place - 1)], position))

    def end_s(self, position: int) -> float:
        """When the sample before a position ended: before a gap that begins there."""
        return self.start_s(position - 1) + 1 / SAMPLE_RATE if position > 0 else self.start_s(0)

    def _drop_piece(self) -> None:
        size = len(self._pieces.popleft()) // 2
        self.begin += size
        if self.sent < self.begin:
            self._dropped += self.begin - self.sent
            self.sent = self.begin

    @staticmethod
    def _at(anchor: tuple[int, float], position: int) -> float:
        return anchor[1] + (position - anchor[0]) / SAMPLE_RATE
