"""Recordings as a source, in real time or as fast as possible."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

import msgspec
from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from typing_extensions import override

from connectors.audio.decoder import AudioDecoder, probe
from connectors.audio.media import ANY, Wanted
from connectors.audio.recording import STANDARD_INPUT, shown
from connectors.messages import tell
from connectors.pacing import ALWAYS_DUE, nap
from operators.errors import InputError, UsageError
from operators.events import SAMPLE_RATE, AudioChunk
from operators.notifications import RecordingAt, RecordingTruncated

# In real time, delivers what a microphone would have queued, in small batches.
_MAX_DUE = 50


class AudioPosition(msgspec.Struct, frozen=True):
    """The source's resume state."""

    #: 16 kHz samples delivered so far.
    samples: int = 0
    #: True once the last chunk was delivered.
    is_over: bool = False
    #: Of several recordings, where those after the first began that were begun.
    begun_at: tuple[int, ...] = ()


class AudioFileSource(FixedPartitionedSource[AudioChunk, AudioPosition]):
    """The audio of recordings as 16 kHz mono chunks; the last one is marked, and may be empty.

    Several recordings follow each other without a pause, as parts of one talk.

    Delivery: exactly once with recovery. The position is part of the snapshot, and a resumed run continues
    reading there, also after it was stopped. A recording that was read to its end stays over. Standard input
    cannot be read again: it is read once, and no run resumes.

    Args:
        recordings: The path of the recording, or several; also addresses, and ``-`` for standard input.
        stream: Name of the stream, and of the only partition.
        realtime: Deliver each chunk when its last sample would have been spoken.
        chunk_s: Seconds in a chunk, from 0.01 to 10.
        stop: When set, the source ends without marking a last chunk: the next run continues the recording.
        observe: Called after each batch with the progress, and at the end if that came before the header's
            length.
        wanted: Which track of sound, where a recording has several; it is told which one is heard.
        clock: Seconds since an arbitrary moment, for real time.

    Raises:
        InputError: as `probe` does.

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
        wanted: Wanted = ANY,
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
        self._wanted = wanted
        self._piped: AudioDecoder | None = None
        #: Seconds of all recordings; infinite if one does not say.
        self.duration_s = sum(self._probe(one) for one in self.recordings)
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
            return AudioDecoder(recording, position, self.stop, self._wanted)
        piped, self._piped = self._piped, None
        if piped is None or position:
            raise InputError("standard input cannot be read again; save it as a file, and give that")
        return piped

    def _probe(self, recording: str) -> float:
        if recording == STANDARD_INPUT:
            self._piped = AudioDecoder(recording, stop=self.stop, wanted=self._wanted)
            info = self._piped.info
        else:
            info = probe(recording, self._wanted)
        if info.track:
            tell("track_chosen", f"{shown(recording)}: {info.track} is heard; input.track chooses another")
        return info.duration_s

    def begin(self, position_s: float) -> None:
        """Start the stream's clock at a position; only the first call counts."""
        if self._began is None:
            self._began = self._clock() - position_s

    def now(self) -> float:
        """Current time on the stream's clock, in seconds; 0 until the first chunk is requested."""
        return 0.0 if self._began is None else self._clock() - self._began

    def end(self, recording: str, decoder: AudioDecoder) -> None:
        """Report a recording that ended too early or is damaged, once it was read to its end."""
        if decoder.damaged:
            packets = (
                "1 damaged packet was" if decoder.damaged == 1 else f"{decoder.damaged} damaged packets were"
            )
            self.observe(
                RecordingTruncated(f"{packets} left out of {shown(recording)}; the others were translated")
            )
        if decoder.is_truncated:
            self.observe(
                RecordingTruncated(
                    f"{shown(recording)} is truncated: its header promises more than the "
                    f"{decoder.read_s:.1f} s that were translated"
                )
            )


class _AudioFilePartition(StatefulSourcePartition[AudioChunk, AudioPosition]):
    def __init__(self, source: AudioFileSource, position: AudioPosition) -> None:
        self._source = source
        self._position = position.samples
        self._is_over = position.is_over
        # Where the recordings begin that were begun, in samples of the stream.
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
        if source.realtime:
            chunks: list[AudioChunk] = []
            while len(chunks) < _MAX_DUE and not self._is_over and self._due_s() <= source.now():
                if source.stop.is_set():
                    break
                chunks.append(self._next())
            if not chunks:
                nap(self._due_s() - source.now())
        else:
            # One at a time, so that its partials reach the viewer before the rest of the file is read.
            self._fill()
            if source.stop.is_set():
                raise StopIteration
            chunks = [self._next()]
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
        recording = self._source.recordings[len(self._begins) - 1]
        return self._source.open(recording, at - self._begins[-1])

    def _decode(self, at: int) -> Iterator[bytes]:
        """The blocks of the recordings, one after the other, from a sample of the stream on."""
        source = self._source
        while True:
            for block in self._decoder.blocks():
                at += len(block) // 2
                yield block
            if source.stop.is_set():
                return
            source.end(source.recordings[len(self._begins) - 1], self._decoder)
            if len(self._begins) == len(source.recordings):
                return
            self._begins.append(at)
            self._decoder = self._open(at)

    def _due_s(self) -> float:
        """When a microphone would deliver the next chunk: when its last sample was spoken."""
        self._fill()
        samples = min(self._source.chunk_samples, len(self._ahead) // 2)
        return (self._position + samples) / SAMPLE_RATE

    def _next(self) -> AudioChunk:
        self._fill()
        size = 2 * self._source.chunk_samples
        pcm = bytes(self._ahead[:size])
        del self._ahead[:size]
        return self._chunk(pcm, is_last=not self._has_more and not self._ahead)

    def _fill(self) -> None:
        """Decode until more than a chunk is ahead: only then is the next one certainly not the last."""
        while self._has_more and len(self._ahead) <= 2 * self._source.chunk_samples:
            block = next(self._blocks, None)
            if block is None and self._source.stop.is_set():
                return
            self._has_more = block is not None
            self._ahead += block or b""

    def _chunk(self, pcm: bytes, *, is_last: bool) -> AudioChunk:
        start_s = self._position / SAMPLE_RATE
        self._position += len(pcm) // 2
        self._is_over = is_last
        return AudioChunk(stream=self._source.stream, start_s=start_s, pcm=pcm, is_last=is_last)
