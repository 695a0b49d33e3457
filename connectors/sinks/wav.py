"""Writes a stream's audio to a WAV file."""

import contextlib
import os
import stat
import struct
from pathlib import Path

import msgspec
from typing_extensions import override

from connectors.files.backlog import FileSink
from connectors.files.output import WriteError, inherited, is_deleted, lock
from connectors.files.records import RecordFile
from connectors.files.watch import OutputWatch
from connectors.sinks.part import SinkPart
from operators.errors import OutputError
from operators.events import SAMPLE_RATE, AudioChunk

# 16-bit mono, as in every `AudioChunk`.
_FORMAT = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, SAMPLE_RATE, 2 * SAMPLE_RATE, 2, 16)
# Space for the 64-bit sizes of RF64, reserved by a chunk that readers skip (EBU Tech 3306).
_RESERVED = struct.pack("<4sI28x", b"JUNK", 28)
_HEADER_BYTES = 12 + len(_RESERVED) + len(_FORMAT) + 8
_MAX_SIZE = 0xFFFF_FFFE
# Sources that round their times may produce chunks that overlap slightly.
_ROUNDING_SAMPLES = SAMPLE_RATE // 100
# No stream runs for three years; a file of that length would mean a defect or an attack.
_MAX_START_S = 1e8


class WavPosition(msgspec.Struct, frozen=True):
    """How far a WAV file has been written."""

    #: The recorded stream; None before its first chunk.
    stream: str | None = None
    #: 16 kHz samples written, including silence.
    samples: int = 0


class WavFile:
    """A WAV file that is valid after each chunk, as a `RecordFile`; lost audio is replaced by silence.

    Args:
        file: Descriptor of the file if it is already open and locked; closed with this object.

    Raises:
        WriteError: from every method, when the file cannot be written for now.
        OutputError: when it is now shorter than ``position``; when a second stream comes, or a chunk from
            before what was written already.
    """

    def __init__(self, path: Path, position: WavPosition, file: int | None = None) -> None:
        self.path = str(path)
        self._path = path
        self._stream = position.stream
        self._samples = position.samples
        # Whether the file may contain more than `position` says, or a different header.
        self._is_ragged = True
        self._is_synced = True
        #: How often somebody else deleted or truncated it, with the loss of its contents.
        self.deletions = 0
        try:
            with contextlib.ExitStack() as on_error:
                self._open(file)
                on_error.callback(os.close, self._file)
                self._check()
                on_error.pop_all()
        except OSError as error:
            raise WriteError(path, error) from None

    @property
    def position(self) -> WavPosition:
        """How far the file has been written."""
        return WavPosition(self._stream, self._samples)

    def _open(self, held: int | None = None) -> None:
        if held is not None:
            self._file = held
            return
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            lock(self._file)
        except OSError:
            self.close()
            raise

    def _check(self) -> None:
        status = os.fstat(self._file)
        if not stat.S_ISREG(status.st_mode) or inherited(self._path) is not None:
            raise OutputError(f"{self._path} cannot be written: audio needs a regular file; name one")
        if self._samples and status.st_size < _offset(self._samples):
            raise OutputError(f"{self._path} has become shorter since the run being resumed; start a new run")

    def _trim(self) -> None:
        """Truncate the file to the part that is known to be good, and update the header."""
        os.ftruncate(self._file, _offset(self._samples))
        self._write(0, _header(self._samples))
        self._is_ragged = False

    def begin(self) -> None:
        """Write the header, and create the file again if it was deleted."""
        try:
            if self._file >= 0 and is_deleted(self._file, self._path):
                # A deleted file takes up space as long as it is open.
                self.close()
                self._samples, self._is_ragged, self._is_synced = 0, True, True
                self.deletions += 1
            if self._file < 0:
                self._open()
            elif os.fstat(self._file).st_size < _offset(self._samples):
                # Writing beyond the end would turn the missing part into silence that was never recorded.
                self.deletions += self._samples > 0
                self._samples, self._is_ragged = 0, True
            if self._is_ragged:
                self._trim()
        except OSError as error:
            raise WriteError(self._path, error) from None

    def append(self, record: AudioChunk) -> None:
        """Write one chunk completely or not at all."""
        self._is_synced = False
        start, pcm = self._checked(record)
        try:
            self._add(start, pcm)
        except OSError as error:
            # The header covers only complete chunks; half a chunk after them is worse than none.
            self._is_ragged = True
            with contextlib.suppress(OSError):
                self._trim()
            raise WriteError(self._path, error) from None

    def size_of(self, record: AudioChunk) -> int:
        """Size of a chunk in bytes."""
        return len(record.pcm)

    def sync(self) -> None:
        """Make sure that what was written survives a crash of the machine."""
        try:
            if not self._is_synced:
                # A snapshot must not survive if the file loses data when the machine crashes.
                os.fsync(self._file)
                self._is_synced = True
        except OSError as error:
            raise WriteError(self._path, error) from None

    def cut_back(self, position: WavPosition) -> None:
        """Remove what was written after a position; never raises."""
        self._stream, self._samples, self._is_ragged = position.stream, position.samples, True
        with contextlib.suppress(OSError):
            self._trim()

    def close(self) -> None:
        """Close the file; never raises."""
        file, self._file = self._file, -1
        if file >= 0:
            with contextlib.suppress(OSError):
                os.close(file)

    def _checked(self, chunk: AudioChunk) -> tuple[int, bytes]:
        """The position of a chunk in samples, and its complete samples."""
        self._stream = self._stream or chunk.stream
        if chunk.stream != self._stream:
            raise OutputError(
                f"{self._path} records the stream {self._stream} and cannot hold {chunk.stream} as well; "
                "give each stream its own file"
            )
        if not chunk.start_s <= _MAX_START_S:
            raise OutputError(
                f"{self._path} cannot hold audio that begins at {chunk.start_s:.0f} s; correct its times"
            )
        start = round(chunk.start_s * SAMPLE_RATE)
        if start < self._samples - _ROUNDING_SAMPLES:
            held_s = self._samples / SAMPLE_RATE
            raise OutputError(
                f"{self._path} holds {self._stream} up to {held_s:.2f} s, and audio from "
                f"{chunk.start_s:.2f} s on arrived a second time; record each run into its own file"
            )
        return max(start, self._samples), chunk.pcm[: len(chunk.pcm) // 2 * 2]

    def _add(self, start: int, pcm: bytes) -> None:
        if start > self._samples:
            # The skipped part reads as zeros, and takes no space on most disks.
            os.ftruncate(self._file, _offset(start))
        self._write(_offset(start), pcm)
        # The sizes are written last, so that a reader never looks for data that is not there yet.
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
    """The header for this many samples; RF64 if 32 bits are not enough."""
    data_bytes = 2 * samples
    riff_bytes = _HEADER_BYTES - 8 + data_bytes
    if riff_bytes <= _MAX_SIZE:
        head = struct.pack("<4sI4s", b"RIFF", riff_bytes, b"WAVE") + _RESERVED
        return head + _FORMAT + struct.pack("<4sI", b"data", data_bytes)
    unknown = 0xFFFF_FFFF
    sizes = struct.pack("<4sIQQQI", b"ds64", 28, riff_bytes, data_bytes, samples, 0)
    head = struct.pack("<4sI4s", b"RF64", unknown, b"WAVE") + sizes
    return head + _FORMAT + struct.pack("<4sI", b"data", unknown)


class WavSink(FileSink[AudioChunk, WavPosition]):
    """Records one stream as 16 kHz mono 16-bit WAV; takes pairs of a key, which is ignored, and a chunk.

    Each sample is at its time on the stream's clock: audio that was never heard becomes silence, so that the
    file gives the same times when it is replayed. The file is valid after each chunk; beyond 4 GiB (37 hours)
    it continues as RF64.

    Delivery: exactly once with recovery: a resumed run truncates the file to its size at the snapshot.

    Args:
        path: The file; its contents are replaced.
        watch: Notified while the file cannot be written, and the flow continues; without it the flow ends.

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
        super().__init__(path, watch=watch)
        if path.exists() and (not path.is_file() or inherited(path) is not None):
            raise OutputError(f"{path} cannot be written: audio needs a regular file; name one")

    @override
    def open_file(
        self, position: WavPosition | None, file: int | None
    ) -> RecordFile[AudioChunk, WavPosition]:
        return WavFile(self.path, position or WavPosition(), file)


part = SinkPart(
    "audio", WavSink, "audio", "Record the speech here (WAV, 16 kHz).", ("--save-audio",), header=None
)
