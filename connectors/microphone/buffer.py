"""Buffers recorded audio until the flow fetches it: bounded, and with accurate times.

The stream's clock starts with the first sample, and follows that of the device, which may be slow or fast.
Consecutive samples belong to one run. A loss ends it, and the next one starts at the time by the wall clock.
"""

import threading
import time
from collections import deque
from collections.abc import Callable

import msgspec

from operators.events import SAMPLE_RATE
from operators.notifications import Losses

# A reported loss moves the clock from this duration on; smaller gaps are due to irregular callbacks.
_JITTER_S = 0.05
# An unreported loss is assumed when even the most punctual of the recent blocks was later than this.
_MIN_UNREPORTED_S = 0.25
_RECENT_S = 2.0
# Seconds per second by which a device's clock may be slow; sound cards are off by up to 300 millionths.
_MAX_DRIFT = 0.001


class SampleRun(msgspec.Struct, frozen=True, eq=False):
    """Consecutive samples without a gap; compared by identity."""

    #: Position of the first sample on the stream's clock, in 16 kHz samples.
    start: int
    #: Samples per second and channel, and channels.
    rate: int
    channels: int


class Block(msgspec.Struct, frozen=True):
    """A part of a run, as recorded."""

    run: SampleRun
    #: Position in the run, in frames: samples per channel.
    frame: int
    frames: int
    #: Interleaved int16 samples.
    data: bytes


class CaptureBuffer:
    """Receives blocks on the device's thread and passes them to the flow's thread.

    Args:
        capacity_s: Seconds of audio to keep; beyond that, the oldest are dropped.
        start: Start of the stream's clock, in 16 kHz samples.
        clock: Seconds since an arbitrary moment.
    """

    def __init__(
        self, capacity_s: float, start: int = 0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._capacity_s = capacity_s
        self._clock = clock
        self._lock = threading.Lock()
        self._blocks: deque[Block] = deque()
        self._held_s = 0.0
        self._losses = Losses()
        self._run = SampleRun(start, SAMPLE_RATE, 1)
        self._frames = 0
        self._is_new = True
        self._began: float | None = None
        self._least_late_s = float("inf")
        self._judged = 0.0
        self._last: float | None = None

    @property
    def losses(self) -> Losses:
        """Everything lost so far."""
        return self._losses

    @property
    def last(self) -> float | None:
        """Time by ``clock`` of the newest block from the current device; None before its first block."""
        return self._last

    def now(self) -> float:
        """Seconds on the stream's clock; 0 until the first sample arrives."""
        return 0.0 if self._began is None else self._clock() - self._began

    def opened(self, rate: int, channels: int) -> None:
        """Announce a newly opened device, whose first block comes next."""
        with self._lock:
            self._begin_run(self._end_s(), rate, channels)
            self._is_new = True
            self._last = None

    def resumed(self, gap_s: float) -> None:
        """Announce that what comes next follows what came last after a gap, however late it comes."""
        with self._lock:
            if gap_s * SAMPLE_RATE >= 1:
                self._begin_run(self._end_s() + gap_s, self._run.rate, self._run.channels)
                self._losses = _with(self._losses, absent_s=self._losses.absent_s + gap_s)
            self._last = None
            self._judge_from(self._clock())

    def put(self, data: bytes, frames: int, *, overflow: bool) -> None:
        """Add recorded samples; ``overflow`` means that samples were lost before them."""
        now = self._clock()
        with self._lock:
            gap_s = self._gap_s(now, frames / self._run.rate, overflow=overflow)
            if gap_s:
                self._begin_run(self._end_s() + gap_s, self._run.rate, self._run.channels)
            self._blocks.append(Block(self._run, self._frames, frames, data))
            self._frames += frames
            self._held_s += frames / self._run.rate
            self._is_new = False
            self._last = now
            self._drop()

    def take(self) -> list[Block]:
        """All blocks since the last call."""
        with self._lock:
            blocks = list(self._blocks)
            self._blocks.clear()
            self._held_s = 0.0
        return blocks

    def _gap_s(self, now: float, block_s: float, *, overflow: bool) -> float:
        """Seconds missing between the previous block and one that has just arrived."""
        if self._began is None:
            # The clock starts with the first sample, which was recorded before it arrived.
            self._began = now - block_s - self._end_s()
            self._judge_from(now)
        late_s = now - self._began - self._end_s() - block_s
        if late_s < 0:
            # No sample arrives before it was spoken, so it was the first block that came late.
            self._began += late_s
            late_s = 0.0
        if self._last is not None and now - self._last > _MIN_UNREPORTED_S:
            # After a pause, the device's buffered blocks come in a burst, and the first one's lateness is no
            # evidence of a loss.
            self._judge_from(now)
        self._least_late_s = min(self._least_late_s, late_s)
        gap_s, losses = 0.0, self._losses
        if self._is_new:
            gap_s = late_s if late_s * SAMPLE_RATE >= 1 else 0.0
            losses = _with(losses, absent_s=losses.absent_s + gap_s)
        elif overflow:
            gap_s = late_s if late_s > _JITTER_S else 0.0
            losses = _with(losses, overflows=losses.overflows + 1, overflow_s=losses.overflow_s + gap_s)
        elif now - self._judged > _RECENT_S:
            gap_s = self._least_late_s if self._least_late_s > _MIN_UNREPORTED_S else 0.0
            losses = _with(losses, unreported_s=losses.unreported_s + gap_s)
            if not gap_s:
                # Nothing is missing: the stream's clock goes as slowly as the device's.
                self._began += min(self._least_late_s, _MAX_DRIFT * (now - self._judged))
            self._judge_from(now)
        self._losses = losses
        if gap_s:
            self._judge_from(now)
        return gap_s

    def _judge_from(self, now: float) -> None:
        self._judged = now
        self._least_late_s = float("inf")

    def _end_s(self) -> float:
        """End of the samples so far, on the stream's clock."""
        return self._run.start / SAMPLE_RATE + self._frames / self._run.rate

    def _begin_run(self, start_s: float, rate: int, channels: int) -> None:
        self._run = SampleRun(round(start_s * SAMPLE_RATE), rate, channels)
        self._frames = 0

    def _drop(self) -> None:
        while self._held_s > self._capacity_s and self._blocks:
            block = self._blocks.popleft()
            lost_s = block.frames / block.run.rate
            self._held_s -= lost_s
            self._losses = _with(self._losses, dropped_s=self._losses.dropped_s + lost_s)


def _with(losses: Losses, **changed: float) -> Losses:
    return msgspec.structs.replace(losses, **changed)
