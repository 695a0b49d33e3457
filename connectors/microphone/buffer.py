"""What a microphone recorded and the flow has not fetched yet: bounded, and with true times.

The clock of the stream begins with the first sample. Samples that follow each other belong to one run; what
is lost between two samples ends a run, and the next one begins where the wall clock says.
"""

import threading
import time
from collections import deque
from collections.abc import Callable

import msgspec

from operators.events import SAMPLE_RATE
from operators.losses import Losses

# A reported loss moves the clock from here on; anything below is how unevenly callbacks come.
_JITTER_S = 0.05
# A loss that nobody reports is believed when even the most punctual block of a while came too late.
_UNREPORTED_FROM_S = 0.25
_WHILE_S = 2.0


class SampleRun(msgspec.Struct, frozen=True, eq=False):
    """Samples that follow each other without a gap; compared by identity."""

    #: Position of the first sample on the stream's clock, in 16 kHz samples.
    start: int
    #: Samples per second and channel, and channels.
    rate: int
    channels: int


class Block(msgspec.Struct, frozen=True):
    """A part of a run, as it was recorded."""

    run: SampleRun
    #: Position in the run, in frames: samples per channel.
    frame: int
    frames: int
    #: Interleaved int16 samples.
    data: bytes


class CaptureBuffer:
    """Takes blocks on the device's thread and gives them to the flow's.

    Args:
        capacity_s: Seconds that are kept; when there are more, the oldest go.
        start: Where the stream's clock begins, in 16 kHz samples.
        clock: Seconds since any moment.
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
        """All that was lost so far."""
        return self._losses

    @property
    def last(self) -> float | None:
        """When the device that was opened last gave its newest block, by ``clock``; None before its first."""
        return self._last

    def now(self) -> float:
        """Seconds on the stream's clock; 0 until the first sample came."""
        return 0.0 if self._began is None else self._clock() - self._began

    def opened(self, rate: int, channels: int) -> None:
        """The next block is the first of a device that was just opened."""
        with self._lock:
            self._begin_run(self._end_s(), rate, channels)
            self._is_new = True
            self._last = None

    def put(self, data: bytes, frames: int, *, overflow: bool) -> None:
        """Add what was just recorded; ``overflow`` says that samples were lost before it."""
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
        """All blocks that came since the last call."""
        with self._lock:
            blocks = list(self._blocks)
            self._blocks.clear()
            self._held_s = 0.0
        return blocks

    def _gap_s(self, now: float, block_s: float, *, overflow: bool) -> float:
        """Seconds that are missing between the block before and one that has just come."""
        if self._began is None:
            # The clock begins with the first sample, which was recorded before it came.
            self._began = now - block_s - self._end_s()
            self._judge_from(now)
        late_s = now - self._began - self._end_s() - block_s
        if late_s < 0:
            # No sample comes before it was spoken: it was the first block that came late.
            self._began += late_s
            late_s = 0.0
        if self._last is not None and now - self._last > _UNREPORTED_FROM_S:
            # After a pause, what the device kept comes in a burst: its first block says nothing.
            self._judge_from(now)
        self._least_late_s = min(self._least_late_s, late_s)
        gap_s, losses = 0.0, self._losses
        if self._is_new:
            gap_s = late_s if late_s * SAMPLE_RATE >= 1 else 0.0
            losses = _with(losses, absent_s=losses.absent_s + gap_s)
        elif overflow:
            gap_s = late_s if late_s > _JITTER_S else 0.0
            losses = _with(losses, overflows=losses.overflows + 1, overflow_s=losses.overflow_s + gap_s)
        elif now - self._judged > _WHILE_S:
            gap_s = self._least_late_s if self._least_late_s > _UNREPORTED_FROM_S else 0.0
            losses = _with(losses, unreported_s=losses.unreported_s + gap_s)
            self._judge_from(now)
        self._losses = losses
        if gap_s:
            self._judge_from(now)
        return gap_s

    def _judge_from(self, now: float) -> None:
        self._judged = now
        self._least_late_s = float("inf")

    def _end_s(self) -> float:
        """Where the samples that came so far end, on the stream's clock."""
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
