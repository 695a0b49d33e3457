"""Recordings as a source, in real time or as fast as possible."""

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

import msgspec
from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from typing_extensions import override

from connectors.audio.decoder import AudioDecoder, open_audio
from connectors.audio.media import DEFAULT_TRACK, TrackChoice
from connectors.audio.recording import STANDARD_INPUT, shown
from connectors.messages import log_event
from connectors.pacing import ALWAYS_DUE, nap
from operators.errors import InputError, UsageError
from operators.events import SAMPLE_RATE, AudioChunk
from operators.notifications import RecordingAt, RecordingTruncated

# Maximum chunks in a batch in real time: a microphone would have queued those that are due.
_MAX_DUE = 50


class AudioPosition(msgspec.Struct, frozen=True):
    """The source's resume state."""

    #: 16 kHz samples delivered so far.
    samples: int = 0
    #: True once the last chunk was delivered.
    is_over: bool = False
    #: Starts of the recordings after the first, as far as they were reached, in samples of the stream.
    begun_at: tuple[int, ...] = ()


class AudioFileSource(FixedPartitionedSource[AudioChunk, AudioPosition]):
    """The audio of recordings as 16 kHz mono chunks; the last one is marked, and may be empty.

    Several recordings follow each other without a pause, as parts of one talk.

    Delivery: exactly once with recovery. The position is part of the snapshot, and a resumed run continues
    reading there, also after it was stopped. A recording that was read to its end stays over. Standard input
    can be read only once, so its runs cannot be resumed.

    Args:
        recordings: The path of the recording, or several; also addresses, and ``-`` for standard input.
        stream: Name of the stream, and of the only partition.
        realtime: Deliver each chunk when its last sample would have been spoken.
        chunk_s: Seconds in a chunk, from 0.01 to 10.
        stop: When set, the source ends without marking a last chunk: the next run continues the recording.
        observe: Called after each batch with the progress, and for a damaged or truncated recording.
        choice: Which audio track to decode if a recording has several; a message names it.
        clock: Seconds since an arbitrary moment, for real time.

    Raises:
        InputError: as `open_audio` does.

    Example:
        >>> from bytewax import operators as op
        >>> from bytewax.dataflow import Dataflow
        >>> from bytewax.testing import TestingSink, run_main
        >>> from pathlib import Path
        >>> from connectors import AudioFileSource
        >>> flow, chunks = Dataflow("example"), []
        >>> audio = op.input("in", flow, AudioFileSource(Path("talk.wav"), stream="talk"))
        >>> op.output("out", audio, TestingSink(chunks))
        >>> run_main(flow)
        >>> chunks[-1].is_last
        True
    """

    def __init__(
        self,
        recordings: Path | str | Sequence[Path | str],
        *,
        stream: str,
        realtime: bool = False,
        chunk_s: float = 0.1,
        stop: threading.Event | None = None,
        observe: Callable[[RecordingAt | RecordingTruncated], None] = lambda _event: None,
        choice: TrackChoice = DEFAULT_TRACK,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not 0.01 <= chunk_s <= 10:
            raise UsageError(f"chunk_s is {chunk_s}; give a value from 0.01 to 10 seconds")
        given = [recordings] if isinstance(recordings, Path | str) else recordings
        self.recordings = [str(one) for one in given]
        self.stream = stream
        self.realtime = realtime
        self.chunk_samples = round(chunk_s * SAMPLE_RATE)
        self.stop = stop or threading.Event()
        self._choice = choice
        self._piped: AudioDecoder | None = None
        #: Seconds of all recordings; infinite if the length of one is unknown.
        self.duration_s = sum(map(self._probe, self.recordings))
        self.observe = observe
        self._clock = clock
        self._began: float | None = None

    @override
    def list_parts(self) -> list[str]:
        return [self.stream]

    @override
    def build_part(
        self, step_id: str, for_part: str, resume_state: AudioPosition | None
    ) -> "_AudioFilePartition":
        return _AudioFilePartition(self, resume_state or AudioPosition())

    def open(self, recording: str, position: int) -> AudioDecoder:
        """A decoder that begins at a position of one of the recordings, in samples."""
        if recording != STANDARD_INPUT:
            return open_audio(recording, position, self.stop, self._choice)
        piped, self._piped = self._piped, None
        if piped is None or position:
            raise InputError("standard input cannot be read again; save it as a file, and give that")
        return piped

    def _probe(self, recording: str) -> float:
        """The length of a recording in seconds, infinite if unknown."""
        decoder = open_audio(recording, stop=self.stop, choice=self._choice)
        if recording == STANDARD_INPUT:
            self._piped = decoder
        else:
            decoder.close()
        if decoder.track:
            log_event(
                "track_chosen", f"{shown(recording)}: {decoder.track} is used; input.track chooses another"
            )
        return math.inf if decoder.duration_s is None else decoder.duration_s

    def begin(self, position_s: float) -> None:
        """Start the stream's clock at a position; only the first call counts."""
        if self._began is None:
            self._began = self._clock() - position_s

    def now(self) -> float:
        """Current time on the stream's clock, in seconds; 0 until the first chunk is requested."""
        return 0.0 if self._began is None else self._clock() - self._began


class _AudioFilePartition(StatefulSourcePartition[AudioChunk, AudioPosition]):
    def __init__(self, source: AudioFileSource, position: AudioPosition) -> None:
        self._source = source
        self._position = position.samples
        self._is_over = position.is_over
        # Starts of the recordings reached so far, in samples of the stream.
        self._begins = [0, *(at for at in position.begun_at if at <= position.samples)]
        self._decoder = self._open(position.samples)
        self._blocks = self._decode(position.samples)
        self._ahead = bytearray()
        self._has_more = True

    @override
    def next_batch(self) -> list[AudioChunk]:
        source = self._source
        if self._is_over or source.stop.is_set():
            raise StopIteration
        source.begin(self._position / SAMPLE_RATE)
        # If not in real time, one chunk per batch: its partials reach the viewer before the rest is read.
        chunks: list[AudioChunk] = []
        while len(chunks) < (_MAX_DUE if source.realtime else 1) and not self._is_over:
            self._fill()
            if source.stop.is_set() or (source.realtime and self._due_s() > source.now()):
                break
            chunks.append(self._next())
        if not chunks and source.realtime:
            nap(self._due_s() - source.now())
        source.observe(RecordingAt(self._position / SAMPLE_RATE, source.duration_s))
        return chunks

    @override
    def next_awake(self) -> datetime | None:
        return ALWAYS_DUE if self._source.realtime and not self._is_over else None

    @override
    def snapshot(self) -> AudioPosition:
        return AudioPosition(self._position, self._is_over, tuple(self._begins[1:]))

    @override
    def close(self) -> None:
        self._decoder.close()

    def _open(self, at: int) -> AudioDecoder:
        return self._source.open(self._recording, at - self._begins[-1])

    @property
    def _recording(self) -> str:
        return self._source.recordings[len(self._begins) - 1]

    def _decode(self, at: int) -> Iterator[bytes]:
        """The blocks of the recordings, one after the other, from a sample of the stream on."""
        source = self._source
        while True:
            for block in self._decoder.blocks():
                at += len(block) // 2
                yield block
            if source.stop.is_set():
                return
            for sentence in _defects(self._recording, self._decoder):
                source.observe(RecordingTruncated(sentence))
            if len(self._begins) == len(source.recordings):
                return
            self._begins.append(at)
            self._decoder = self._open(at)

    def _due_s(self) -> float:
        """When a microphone would deliver the next chunk: when its last sample was spoken."""
        samples = min(self._source.chunk_samples, len(self._ahead) // 2)
        return (self._position + samples) / SAMPLE_RATE

    def _fill(self) -> None:
        """Decode until more than a chunk is ahead: only then is the next one certainly not the last."""
        while self._has_more and len(self._ahead) <= 2 * self._source.chunk_samples:
            block = next(self._blocks, None)
            if block is None and self._source.stop.is_set():
                return
            self._has_more = block is not None
            self._ahead += block or b""

    def _next(self) -> AudioChunk:
        size = 2 * self._source.chunk_samples
        pcm = bytes(self._ahead[:size])
        del self._ahead[:size]
        start_s = self._position / SAMPLE_RATE
        self._position += len(pcm) // 2
        self._is_over = not self._has_more and not self._ahead
        return AudioChunk(stream=self._source.stream, start_s=start_s, pcm=pcm, is_last=self._is_over)


def _defects(recording: str, decoder: AudioDecoder) -> Iterator[str]:
    if count := decoder.damaged:
        packets = "1 damaged packet was" if count == 1 else f"{count} damaged packets were"
        yield f"{packets} left out of {shown(recording)}; the others were translated"
    if decoder.is_truncated:
        yield (
            f"{shown(recording)} is truncated: its header promises more than the {decoder.read_s:.1f} s that "
            "were translated"
        )
