"""A stream's audio into a WAV file."""

import contextlib
import os
import stat
import struct
from collections.abc import Iterable
from pathlib import Path

import msgspec
from bytewax.outputs import FixedPartitionedSink, StatefulSinkPartition
from typing_extensions import override

from connectors.output_file import check_writable
from operators.errors import OutputError
from operators.events import SAMPLE_RATE, AudioChunk

# 16-bit mono, as in every `AudioChunk`.
_FORMAT = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, SAMPLE_RATE, 2 * SAMPLE_RATE, 2, 16)
# Room for the 64-bit sizes of RF64, kept free by a chunk that readers skip (EBU Tech 3306).
_RESERVED = struct.pack("<4sI28x", b"JUNK", 28)
_HEADER_BYTES = 12 + len(_RESERVED) + len(_FORMAT) + 8
_LARGEST_SIZE = 0xFFFF_FFFE
# Sources that round their times may give chunks that overlap by a little.
_ROUNDING_SAMPLES = SAMPLE_RATE // 100
# No stream runs for three years; a file of that length would be a defect or an attack.
_LATEST_S = 1e8


class WavPosition(msgspec.Struct, frozen=True):
    """The sink's resume state."""

    #: The stream that is recorded; None before its first chunk.
    stream: str | None = None
    #: 16 kHz samples that were written, silence included.
    samples: int = 0


class WavSink(FixedPartitionedSink[AudioChunk, WavPosition]):
    """Records one stream as 16 kHz mono 16-bit WAV; takes pairs of a key, which does not matter, and a chunk.

    Each sample stands where the stream's clock says: what was never heard is silence, so that the file gives
    the same times when it is replayed. After each chunk the file is valid; past 4 GiB (37 hours) it goes on
    as RF64.

    Delivery: exactly once with recovery: a resumed run cuts the file back to where the snapshot was taken.

    :arg path: The file; what it held is replaced.
    :arg reading: The files that the same run reads.
    :raises OutputError: when the file cannot be written, here or while the flow runs; when a second stream
        comes, or a chunk from before what was written already.
    """

    def __init__(self, path: Path, *, reading: Iterable[Path] = ()) -> None:
        check_writable(path, reading=reading)
        if path.exists() and not path.is_file():
            raise OutputError(f"{path} cannot be written: audio needs a regular file")
        self._path = path

    @override
    def list_parts(self) -> list[str]:
        return [os.path.realpath(self._path)]

    @override
    def part_fn(self, item_key: str) -> int:
        return 0

    @override
    def build_part(self, step_id: str, for_part: str, resume_state: WavPosition | None) -> "_WavPartition":
        return _WavPartition(self._path, resume_state or WavPosition())


class _WavPartition(StatefulSinkPartition[AudioChunk, WavPosition]):
    def __init__(self, path: Path, position: WavPosition) -> None:
        self._path = path
        self._stream = position.stream
        self._samples = position.samples
        self._is_synced = True
        try:
            with contextlib.ExitStack() as on_error:
                self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
                on_error.callback(os.close, self._file)
                self._begin()
                on_error.pop_all()
        except OSError as error:
            raise _error(path, error) from None

    def _begin(self) -> None:
        status = os.fstat(self._file)
        if not stat.S_ISREG(status.st_mode):
            raise OutputError(f"{self._path} cannot be written: audio needs a regular file")
        size = _offset(self._samples)
        if self._samples and status.st_size < size:
            raise OutputError(f"{self._path} has become shorter since the run that is resumed; start anew")
        os.ftruncate(self._file, min(status.st_size, size))
        self._write(0, _header(self._samples))

    @override
    def write_batch(self, values: list[AudioChunk]) -> None:
        self._is_synced = False
        for chunk in values:
            start, pcm = self._checked(chunk)
            try:
                self._add(start, pcm)
            except OSError as error:
                # What the header speaks of is there; half a chunk behind it is worse than none.
                with contextlib.suppress(OSError):
                    os.ftruncate(self._file, _offset(self._samples))
                raise _error(self._path, error) from None

    @override
    def snapshot(self) -> WavPosition:
        try:
            if not self._is_synced:
                # A snapshot must not survive what the file loses when the machine goes down.
                os.fsync(self._file)
                self._is_synced = True
        except OSError as error:
            raise _error(self._path, error) from None
        return WavPosition(self._stream, self._samples)

    @override
    def close(self) -> None:
        # Bytewax aborts the process when closing fails while another error is on its way.
        with contextlib.suppress(OSError):
            os.close(self._file)

    def _checked(self, chunk: AudioChunk) -> tuple[int, bytes]:
        """Where a chunk goes, in samples, and its whole samples."""
        self._stream = self._stream or chunk.stream
        if chunk.stream != self._stream:
            raise OutputError(
                f"{self._path} records the stream {self._stream} and cannot hold {chunk.stream} as well; "
                "give each stream a file of its own"
            )
        if not chunk.start_s <= _LATEST_S:
            raise OutputError(f"{self._path} cannot hold audio that begins at {chunk.start_s:.0f} s")
        start = round(chunk.start_s * SAMPLE_RATE)
        if start < self._samples - _ROUNDING_SAMPLES:
            held_s = self._samples / SAMPLE_RATE
            raise OutputError(
                f"{self._path} holds {self._stream} up to {held_s:.2f} s, and audio from "
                f"{chunk.start_s:.2f} s on came again; record each run into a file of its own"
            )
        return max(start, self._samples), chunk.pcm[: len(chunk.pcm) // 2 * 2]

    def _add(self, start: int, pcm: bytes) -> None:
        if start > self._samples:
            # What is skipped reads as zeros, and takes no room on most disks.
            os.ftruncate(self._file, _offset(start))
        self._write(_offset(start), pcm)
        # Sizes come last: a reader never looks for what is not there yet.
        samples = start + len(pcm) // 2
        self._write(0, _header(samples))
        self._samples = samples

    def _write(self, offset: int, data: bytes) -> None:
        left = memoryview(data)
        while left:
            count = os.pwrite(self._file, left, offset)
            left, offset = left[count:], offset + count


def _offset(samples: int) -> int:
    return _HEADER_BYTES + 2 * samples


def _header(samples: int) -> bytes:
    """The header of a file with so many samples; RF64 where 32 bits cannot tell their number."""
    data_bytes = 2 * samples
    riff_bytes = _HEADER_BYTES - 8 + data_bytes
    if riff_bytes <= _LARGEST_SIZE:
        head = struct.pack("<4sI4s", b"RIFF", riff_bytes, b"WAVE") + _RESERVED
        return head + _FORMAT + struct.pack("<4sI", b"data", data_bytes)
    unknown = 0xFFFF_FFFF
    sizes = struct.pack("<4sIQQQI", b"ds64", 28, riff_bytes, data_bytes, samples, 0)
    head = struct.pack("<4sI4s", b"RF64", unknown, b"WAVE") + sizes
    return head + _FORMAT + struct.pack("<4sI", b"data", unknown)


def _error(path: Path, error: OSError) -> OutputError:
    return OutputError(f"{path} cannot be written: {error.strerror}")
