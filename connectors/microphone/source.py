"""A microphone or another live input as a source."""

import threading
from collections.abc import Callable
from datetime import datetime

import msgspec
from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from typing_extensions import override

from connectors.microphone.buffer import CaptureBuffer
from connectors.microphone.capture import Capture, Device, LiveInput
from connectors.microphone.devices import find_device
from connectors.pacing import ALWAYS_DUE, nap
from operators.errors import UsageError
from operators.events import SAMPLE_RATE, AudioChunk
from operators.notifications import SoundLost, SourceChanged, SourceOpened

# Maximum time before recorded samples are fetched: short compared with a chunk.
_FETCH_S = 0.02


class MicrophonePosition(msgspec.Struct, frozen=True):
    """The source's resume state."""

    #: Position of the stream's clock, in 16 kHz samples.
    samples: int = 0


class MicrophoneSource(FixedPartitionedSource[AudioChunk, MicrophonePosition]):
    """The audio of a microphone, as 16 kHz mono chunks of at most 100 ms.

    The device is opened by `begin`, or with the first batch. If it disappears, the source waits until it is
    back, and the stream's clock keeps running. After lost samples, the next chunk starts later, so the times
    stay correct.

    Delivery: at most once. A microphone cannot be rewound: speech while nothing was recording, or after the
    snapshot, is lost. A resumed run continues from the position of the stream's clock at the snapshot, or
    when it was stopped.

    Args:
        stream: Name of the stream, and of the only partition.
        device: Index of the device, its name or a part of it; None for the system's default; or another live
            input.
        buffer_s: Seconds of audio to keep while the flow is busy, from 1 to 600; beyond that, the oldest is
            lost.
        stop: When set, recorded audio is delivered and the source ends. No chunk is marked as the last one:
            the stream is not over, and the next run continues it.
        observe: Called on the flow's thread when the device or broadcast disappears or returns, and when
            audio is lost; after `begin` also when the first sound has come, on another thread.

    Raises:
        UsageError: when there is no such device, or several.
        InputError: when PortAudio is missing; while the flow runs, when the device cannot be opened.
    """

    def __init__(
        self,
        *,
        stream: str,
        device: str | int | LiveInput | None = None,
        buffer_s: float = 30.0,
        stop: threading.Event | None = None,
        observe: Callable[[SourceOpened | SourceChanged | SoundLost], None] = lambda _event: None,
    ) -> None:
        if not 1 <= buffer_s <= 600:
            raise UsageError(f"buffer_s is {buffer_s}; give a value from 1 to 600 seconds")
        self.stream = stream
        if not isinstance(device, LiveInput):
            device = Device(find_device(device), by_name=device is not None)
        self.stop = stop or threading.Event()
        self.observe = observe
        self._buffer = CaptureBuffer(buffer_s)
        self._capture = Capture(device, self._buffer)
        # Where the stream's clock begins, in 16 kHz samples.
        self._first = 0

    def begin(self) -> None:
        """Start to record before the flow runs; the sound is buffered until then."""
        self._capture.start(lambda: self.observe(SourceOpened()))

    def now(self) -> float:
        """Current time on the stream's clock, in seconds; 0 until the first sample arrives."""
        since_s = self._buffer.now()
        return since_s and self._first / SAMPLE_RATE + since_s

    def close(self) -> None:
        """Release the device, for runs that end without ``stop``. May be called more than once."""
        self._capture.close()

    @override
    def list_parts(self) -> list[str]:
        return [self.stream]

    @override
    def build_part(
        self, step_id: str, for_part: str, resume_state: MicrophonePosition | None
    ) -> "_MicrophonePartition":
        self._first = resume_state.samples if resume_state else 0
        return _MicrophonePartition(self, self._buffer, self._capture, self._first)


class _MicrophonePartition(StatefulSourcePartition[AudioChunk, MicrophonePosition]):
    def __init__(self, source: MicrophoneSource, buffer: CaptureBuffer, capture: Capture, at: int) -> None:
        self._source, self._buffer, self._capture = source, buffer, capture
        self._first = self._position = at
        self._is_stopped = False
        self._lost = SoundLost()

    @override
    def next_batch(self) -> list[AudioChunk]:
        if self._is_stopped:
            raise StopIteration
        self._is_stopped = self._source.stop.is_set() or self._capture.is_over
        if self._is_stopped:
            # Waits until the device is released, so that nothing is recorded after the last chunk.
            self._capture.close()
        else:
            self._capture.start()
        taken = [(self._first + at, pcm) for at, pcm in self._buffer.take(is_over=self._is_stopped)]
        stream = self._source.stream
        chunks = [AudioChunk(stream=stream, start_s=at / SAMPLE_RATE, pcm=pcm) for at, pcm in taken]
        if taken:
            at, pcm = taken[-1]
            self._position = at + len(pcm) // 2
        self._report()
        if not self._is_stopped and self._capture.error is not None:
            raise self._capture.error
        if not chunks and not self._is_stopped:
            nap(_FETCH_S)
        return chunks

    @override
    def next_awake(self) -> datetime | None:
        return None if self._is_stopped else ALWAYS_DUE

    @override
    def snapshot(self) -> MicrophonePosition:
        return MicrophonePosition(self._position)

    @override
    def close(self) -> None:
        self._capture.close()

    def _report(self) -> None:
        while self._capture.changes:
            self._source.observe(SourceChanged(self._capture.changes.popleft(), self._source.now()))
        lost = SoundLost(self._buffer.lost_s, self._buffer.absent_s)
        if lost != self._lost:
            self._lost = lost
            self._source.observe(lost)
