"""Buffers recorded audio until the flow fetches it: bounded, and with accurate times.

The stream's clock starts with the first sample, and follows the device's clock, which may be slow or fast.
After a loss, the next sample gets its time from the system's clock.
"""

import threading
import time
from collections import deque
from collections.abc import Callable

import numpy as np
import soxr  # type: ignore[import-untyped] # ships no stubs
from numpy.typing import NDArray

from operators.events import SAMPLE_RATE
from operators.sound import mono

# A tenth of a second.
_CHUNK_BYTES = 2 * SAMPLE_RATE // 10
# A loss is assumed when even the most punctual of the recent blocks was later than this; otherwise callbacks
# are irregular.
_MIN_LOSS_S = 0.25
_RECENT_S = 2.0


class CaptureBuffer:
    """Converts sound from the device's thread to 16 kHz mono, and passes it to the flow's thread.

    Args:
        capacity_s: Seconds of audio to keep; beyond that, the oldest are dropped.
        clock: Seconds since an arbitrary moment.
    """

    def __init__(self, capacity_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._most_chunks = round(10 * capacity_s)
        self._clock = clock
        self._lock = threading.Lock()
        # Chunks with the positions of their first samples, and the position of the next sample.
        self._chunks: deque[tuple[int, bytearray]] = deque()
        self._at = 0
        self._resampler: soxr.ResampleStream | None = None
        self._began: float | None = None
        # When the oldest of the recent blocks came, and how late the most punctual of them was.
        self._since: float | None = None
        self._least_late_s = 0.0
        #: Seconds lost while there was a device, and seconds without one.
        self.lost_s = self.absent_s = 0.0
        #: Time by ``clock`` of the newest block from the current device; None before its first block.
        self.last: float | None = None
        self._is_new = True
        self._continue_at(0.0, SAMPLE_RATE, 1)

    def now(self) -> float:
        """Seconds on the stream's clock; 0 until the first sample arrives."""
        return 0.0 if self._began is None else self._clock() - self._began

    def opened(self, rate: int, channels: int) -> None:
        """Announce a newly opened device, whose first block comes next."""
        with self._lock:
            self._continue_at(self._end_s(), rate, channels)
            self._is_new, self.last = True, None

    def resumed(self, gap_s: float) -> None:
        """Announce that the next block follows the last one after ``gap_s``, however late it arrives."""
        with self._lock:
            if gap_s >= 1 / SAMPLE_RATE:
                self._skip(gap_s)
                self.absent_s += gap_s
            self.last = self._since = None

    def put(self, data: bytes, frames: int) -> None:
        """Add recorded samples: interleaved int16, ``frames`` of them for each channel."""
        now = self._clock()
        with self._lock:
            if gap_s := self._gap_s(now, frames / self._rate):
                self._skip(gap_s)
            self._frames += frames
            self._is_new, self.last = False, now
            if self._resampler is None:
                self._append(data)
            else:
                samples = mono(np.frombuffer(data, "<i2").reshape(frames, -1).astype(np.float32))
                self._append(_pcm(self._resampler.resample_chunk(samples / np.float32(32768))))
            while len(self._chunks) > self._most_chunks:
                self.lost_s += len(self._chunks.popleft()[1]) / 2 / SAMPLE_RATE

    def take(self, *, is_over: bool = False) -> list[tuple[int, bytes]]:
        """All samples since the last call: chunks of at most 100 ms, each with its position in samples."""
        with self._lock:
            if is_over:
                self._continue_at(self._end_s(), self._rate, self._channels)
            chunks = [(at, bytes(pcm)) for at, pcm in self._chunks]
            self._chunks.clear()
        return chunks

    def _gap_s(self, now: float, block_s: float) -> float:
        """Seconds missing between the previous block and one that has just arrived."""
        if self._began is None:
            # The clock starts with the first sample, which was recorded before it arrived.
            self._began = now - block_s - self._end_s()
        late_s = now - self._began - self._end_s() - block_s
        if late_s < 1 / SAMPLE_RATE:
            # No sample arrives before it was spoken, so it was the first block that came late.
            self._began += min(0.0, late_s)
            late_s = 0.0
        if self._is_new:
            self.absent_s += late_s
            self._since = None
            return late_s
        if self._since is None:
            self._since, self._least_late_s = now, late_s
        self._least_late_s = min(self._least_late_s, late_s)
        if now - self._since <= _RECENT_S:
            return 0.0
        late_s, self._since = self._least_late_s, None
        if late_s > _MIN_LOSS_S:
            self.lost_s += late_s
            return late_s
        # Nothing is missing: the device's clock is slow (by up to 300 ppm), and the stream's follows it.
        self._began += late_s
        return 0.0

    def _end_s(self) -> float:
        """End of the samples so far, on the stream's clock."""
        return self._start_s + self._frames / self._rate

    def _skip(self, gap_s: float) -> None:
        self._continue_at(self._end_s() + gap_s, self._rate, self._channels)

    def _continue_at(self, start_s: float, rate: int, channels: int) -> None:
        if self._resampler is not None:
            self._append(_pcm(self._resampler.resample_chunk(np.zeros(0, np.float32), last=True)))
        self._start_s, self._frames, self._rate, self._channels = start_s, 0, rate, channels
        # The end of resampled audio may extend a sample or two into what comes after it.
        self._at = max(self._at, round(start_s * SAMPLE_RATE))
        is_converted = (rate, channels) == (SAMPLE_RATE, 1)
        self._resampler = None if is_converted else soxr.ResampleStream(rate, SAMPLE_RATE, 1, "float32")

    def _append(self, pcm: bytes) -> None:
        while pcm:
            start, chunk = self._chunks[-1] if self._chunks else (0, bytearray())
            if not chunk or start + len(chunk) // 2 != self._at or len(chunk) >= _CHUNK_BYTES:
                chunk = bytearray()
                self._chunks.append((self._at, chunk))
            part = pcm[: _CHUNK_BYTES - len(chunk)]
            chunk += part
            self._at += len(part) // 2
            pcm = pcm[len(part) :]


def _pcm(samples: NDArray[np.float32]) -> bytes:
    pcm: bytes = np.clip(np.rint(samples * 32768.0), -32768, 32767).astype("<i2").tobytes()
    return pcm
