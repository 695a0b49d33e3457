"""Writes a stream's audio to a WAV file."""

import errno
import os
import struct
from pathlib import Path

from typing_extensions import override

from connectors.files.output import inherited
from connectors.files.sink import FilePartition, FileSink, FileState, write_all
from connectors.files.watch import OutputWatch
from connectors.sinks.part import SinkPart
from operators.errors import OutputError
from operators.events import SAMPLE_RATE, AudioChunk

_HEADER_BYTES = 44
# Sources that round their times may produce chunks that overlap slightly.
_ROUNDING_SAMPLES = SAMPLE_RATE // 100


def _header(size: int) -> bytes:
    """The beginning of a file of so many bytes: 16-bit mono, as in every `AudioChunk`."""
    return struct.pack(
        "<4sI4s4sIHHIIHH4sI", b"RIFF", size - 8, b"WAVE", b"fmt ", 16, 1, 1, SAMPLE_RATE, 2 * SAMPLE_RATE,
        2, 16, b"data", size - _HEADER_BYTES,
    )  # fmt: skip


class _WavPartition(FilePartition[AudioChunk]):
    """The file, whose header has the right sizes after each chunk."""

    _stream = ""
    # Its header is written again after each chunk.
    _is_written_at_end = False

    @override
    def append(self, file: int, record: AudioChunk) -> bool:
        start = self._start(record)
        pcm = record.pcm[: len(record.pcm) // 2 * 2]
        begin = _HEADER_BYTES + 2 * start
        if begin + len(pcm) > 0xFFFF_FFFF:
            raise OSError(errno.EFBIG, "a WAV file holds 37 hours at most")
        # Missing audio reads as zeros, and takes no space on most disks.
        os.ftruncate(file, begin)
        write_all(file, pcm, begin)
        write_all(file, _header(begin + len(pcm)), 0)
        self.size = begin + len(pcm)
        return True

    @override
    def truncate(self, file: int) -> None:
        super().truncate(file)
        if self.size:
            write_all(file, _header(self.size), 0)

    def _start(self, chunk: AudioChunk) -> int:
        """The sample of the file at which a chunk begins."""
        self._stream = self._stream or chunk.stream
        if chunk.stream != self._stream:
            raise OutputError(
                f"{self.path} records the stream {self._stream} and cannot hold {chunk.stream} as well; "
                "give each stream its own file"
            )
        there = (self.size - _HEADER_BYTES) // 2
        start = round(chunk.start_s * SAMPLE_RATE)
        if start < there - _ROUNDING_SAMPLES:
            raise OutputError(
                f"{self.path} holds {self._stream} up to {there / SAMPLE_RATE:.2f} s, and audio from "
                f"{chunk.start_s:.2f} s on arrived a second time; record each run into its own file"
            )
        return max(start, there)


class WavSink(FileSink[AudioChunk]):
    """Records one stream as 16 kHz mono 16-bit WAV; takes pairs of a key, which is ignored, and a chunk.

    Each sample is at its time on the stream's clock: missing audio becomes silence, so that a replay of the
    file gives the same times. The file is valid after each chunk, and holds 37 hours.

    Delivery: exactly once with recovery into a regular file, as for `FileSink`.

    Args:
        path: The file; its contents are replaced.
        watch: Notified of lost chunks; without it, a failed write ends the flow.

    Raises:
        OutputError: when the file cannot be written, here or while the flow runs; when a second stream comes,
            or a chunk from before the audio that was already written.

    Example:
        >>> from bytewax import operators as op
        >>> from bytewax.dataflow import Dataflow
        >>> from bytewax.testing import run_main
        >>> from pathlib import Path
        >>> from connectors import AudioFileSource, WavSink
        >>> flow = Dataflow("example")
        >>> audio = op.input("in", flow, AudioFileSource(Path("talk.wav"), stream="talk"))
        >>> op.output("out", op.key_on("key", audio, lambda chunk: chunk.stream), WavSink(Path("copy.wav")))
        >>> run_main(flow)
        >>> Path("copy.wav").read_bytes()[:4]
        b'RIFF'
    """

    def __init__(self, path: Path, *, watch: OutputWatch | None = None) -> None:
        super().__init__(path, lambda chunk, _number: chunk.pcm, watch=watch)
        if path.exists() and (not path.is_file() or inherited(path) is not None):
            raise OutputError(f"{path} cannot be written: audio needs a regular file; name one")

    @override
    def partition(self, state: FileState | None) -> _WavPartition:
        return _WavPartition(self.path, self._encode, _header(_HEADER_BYTES), state, self._watch)


part = SinkPart("audio", WavSink, "audio", header=None)
