"""The audio of the last seconds, for a recogniser that has to hear it again."""

from collections import deque
from collections.abc import Iterator

import msgspec

from operators.events import SAMPLE_RATE, AudioChunk


class KeptAudio:
    """Chunks in the order in which they came; times are on their clock."""

    def __init__(self) -> None:
        self._chunks: deque[AudioChunk] = deque()

    @property
    def start_s(self) -> float:
        """Where it begins; 0 when there is none."""
        return self._chunks[0].start_s if self._chunks else 0.0

    def add(self, chunk: AudioChunk) -> None:
        """Keep a chunk."""
        self._chunks.append(chunk)

    def forget_before(self, from_s: float) -> None:
        """Drop the chunks that end before a time."""
        while self._chunks and _end_s(self._chunks[0]) <= from_s:
            self._chunks.popleft()

    def clear(self) -> None:
        """Drop all of it."""
        self._chunks.clear()

    def since(self, from_s: float) -> Iterator[AudioChunk]:
        """What was kept from a time on, to the sample."""
        for chunk in self._chunks:
            if _end_s(chunk) > from_s:
                skipped = max(0, round((from_s - chunk.start_s) * SAMPLE_RATE))
                start_s = chunk.start_s + skipped / SAMPLE_RATE
                yield msgspec.structs.replace(chunk, start_s=start_s, pcm=chunk.pcm[2 * skipped :])


def _end_s(chunk: AudioChunk) -> float:
    return chunk.start_s + chunk.duration_s
