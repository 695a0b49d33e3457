"""Decodes recordings to 16 kHz mono samples block by block, with libsndfile or else FFmpeg's libraries.

A truncated recording (a full disk, an aborted download) promises more than it has. A program that writes to
a pipe cannot know the length and leaves a placeholder: such a file is complete. The layout is that of
RIFF/WAVE, and of RF64 (EBU Tech 3306) for files over 4 GiB.
"""

import contextlib
import io
import math
import struct
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import BinaryIO

import msgspec
import numpy as np
import soundfile
import soxr  # type: ignore[import-untyped] # ships no stubs
from numpy.typing import NDArray

from connectors.audio.media import MediaDecoder
from connectors.audio.media_process import ANY, Wanted
from connectors.audio.recording import is_file
from operators.errors import InputError, missing, unreadable
from operators.events import SAMPLE_RATE
from operators.sound import mono

# Sizes written by programs that cannot know the length: 0 (GStreamer), all ones (ffmpeg), just under 2 GiB
# (SoX, arecord). For such a file it is impossible to say whether anything is missing.
_MIN_OPEN_ENDED = 0x7FFF_0000
_UNKNOWN = 0xFFFF_FFFF
_WAV = (b"RIFF", b"RF64", b"BW64")
# Chunks before the data: a recording has a handful, but gigabytes of zeros look like empty chunks.
_MAX_CHUNKS = 1000


class WavData(msgspec.Struct, frozen=True):
    """The ``data`` chunk of a WAV file, in bytes."""

    #: Position of the chunk's 32-bit size in the file.
    size_at: int
    #: The size in the header; absent if it is a placeholder.
    promised: int | None
    #: Bytes after the chunk's header.
    present: int
    #: Bytes per second of audio.
    per_second: int

    @property
    def missing_s(self) -> float:
        """Seconds of audio that the header promises and the file does not have."""
        if self.promised is None or not self.per_second:
            return 0.0
        return max(0, self.promised - self.present) / self.per_second


def read_wav_data(path: Path) -> WavData | None:
    """Find the ``data`` chunk; None for a file that is not WAV or has no such chunk."""
    with path.open("rb") as file:
        total = file.seek(0, io.SEEK_END)
        file.seek(0)
        head = file.read(12)
        if head[:4] not in _WAV or head[8:] != b"WAVE":
            return None
        is_closed = struct.unpack("<4xI4x", head)[0] == total - 8
        return _find_data(file, total, is_closed)


def _find_data(file: BinaryIO, total: int, is_closed: bool) -> WavData | None:
    per_second = 0
    size_64 = None
    for _ in range(_MAX_CHUNKS):
        if len(head := file.read(8)) < 8:
            break
        name, size = struct.unpack("<4sI", head)
        at = file.tell()
        if name == b"data":
            promised = size_64 if size == _UNKNOWN and size_64 is not None else size
            # If the writer came back to fill in the outer size, the inner size is valid too, even if 0.
            known = is_closed or size_64 is not None or 0 < promised < _MIN_OPEN_ENDED
            return WavData(at - 4, promised if known else None, total - at, per_second)
        if name == b"fmt " and len(body := file.read(12)) == 12:
            per_second = struct.unpack("<8xI", body)[0]
        elif name == b"ds64" and len(body := file.read(16)) == 16:
            size_64 = struct.unpack("<8xQ", body)[0]
        # Chunks are padded to an even length.
        file.seek(at + size + size % 2)
    return None


class OpenEndedWav(io.FileIO):
    """A WAV file whose data size reads as "unknown": libsndfile would take a size of 0 literally."""

    def __init__(self, path: Path, data: WavData) -> None:
        super().__init__(path)
        self._size_at = data.size_at

    def __del__(self) -> None:
        # A decoder that reads from a file object does not close it.
        self.close()

    def readinto(self, buffer: "memoryview") -> int:  # type: ignore[override]
        """Read from the file, replacing the four bytes of the size."""
        began = self.tell()
        count = super().readinto(buffer) or 0
        view = memoryview(buffer).cast("B")
        for at in range(max(began, self._size_at), min(began + count, self._size_at + 4)):
            view[at - began] = 0xFF
        return count


_BLOCK_S = 0.5
# Samples of all channels in a block: a header of a few bytes can claim to have a thousand channels.
_BLOCK_SAMPLES = 2**20
_RATES = range(1_000, 768_001)
# libsndfile reports 2^63 - 1 if the header does not contain the length.
_UNKNOWN_FRAMES = 2**62


class AudioFileInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of a recording's header, and how much audio is missing."""

    #: Seconds of audio present; infinite if the header does not contain the length (FLAC from a pipe).
    duration_s: float
    #: Samples per second and channel, in the file.
    rate: int
    channels: int
    #: Seconds that a WAV header promises beyond the file's end; for other formats only reading shows this.
    missing_s: float = 0.0
    #: Which of several audio tracks it is, for a sentence.
    track: str = ""


def probe(recording: Path | str, wanted: Wanted = ANY) -> AudioFileInfo:
    """Read a recording's header, and find the track that is wanted.

    Raises:
        InputError: when the file is missing, is not a file, cannot be read, has an unknown format, has an
            invalid header or contains no audio.
    """
    with closing(AudioDecoder(recording, wanted=wanted)) as decoder:
        return decoder.info


class AudioDecoder:
    """Decodes a recording from a position to its end; iterate over `blocks`, then read the figures.

    Args:
        recording: The path of a file, an address, or ``-`` for standard input.
        position: Where to begin, in 16 kHz samples.
        stop: When set, the blocks end instead of waiting for more of them.
        wanted: Which audio track, if there are several.

    Raises:
        InputError: as `probe` does.
    """

    def __init__(
        self, recording: Path | str, position: int = 0, stop: threading.Event | None = None,
        wanted: Wanted = ANY,
    ) -> None:  # fmt: skip
        self._decoder: _FileDecoder | MediaDecoder
        sound = _opened(Path(recording)) if is_file(str(recording)) else None
        if sound is not None:
            if wanted.track not in ("", "1"):
                raise InputError(
                    f"{recording}: it has one audio track, without a language; leave out input.track"
                )
            self._decoder = _FileDecoder(Path(recording), sound, position)
            self.info = self._decoder.info
        else:
            self._decoder = media = MediaDecoder(str(recording), position, stop, wanted=wanted)
            opened = media.opened
            self.info = AudioFileInfo(
                duration_s=math.inf if opened.duration_s is None else opened.duration_s,
                rate=opened.rate,
                channels=opened.channels,
                track=opened.track,
            )

    @property
    def read_s(self) -> float:
        """Seconds of the recording decoded, including those before the position."""
        return self._decoder.read_s

    @property
    def missing_s(self) -> float:
        """Seconds that the header promised but were not there; 0 until the end is reached."""
        return self._decoder.missing_s

    @property
    def damaged(self) -> int:
        """Packets that could not be decoded, if the format has any; 0 until the end is reached."""
        return self._decoder.damaged

    def blocks(self) -> Iterator[bytes]:
        """Blocks of int16 little-endian samples, 16 kHz mono, about half a second each."""
        return self._decoder.blocks()

    def close(self) -> None:
        """Close the file; may be called more than once."""
        self._decoder.close()


class _FileDecoder:
    """Decodes with libsndfile, as `AudioDecoder` describes."""

    #: A damaged packet ends a file here.
    damaged = 0

    def __init__(self, path: Path, sound: soundfile.SoundFile, position: int) -> None:
        self._sound = sound
        self.info = self._info = _info(path, self._sound)
        self._is_over = False
        # The resampler has a memory, which is filled with a whole second of audio before the position; whole
        # seconds fall on whole samples at every rate.
        second = max(0, position // SAMPLE_RATE - 1)
        if second:
            self._seek(path, second * self._info.rate)
        self._frames = second * self._info.rate
        self._skip = 2 * (position - second * SAMPLE_RATE)

    @property
    def read_s(self) -> float:
        """Seconds of the recording decoded, including those before the position."""
        return self._frames / self._info.rate

    @property
    def missing_s(self) -> float:
        """Seconds that the header promised but were not there; 0 until the end is reached."""
        if not self._is_over:
            return 0.0
        # A stream may also be longer than its header says.
        undecoded_s = max(0.0, self._info.duration_s - self.read_s)
        return self._info.missing_s + (undecoded_s if math.isfinite(undecoded_s) else 0.0)

    def blocks(self) -> Iterator[bytes]:
        """Blocks of int16 little-endian samples, 16 kHz mono, about half a second each."""
        rate = self._info.rate
        # If no resampler is needed, the samples pass unchanged.
        resampler = None if rate == SAMPLE_RATE else soxr.ResampleStream(rate, SAMPLE_RATE, 1, "float32")
        while not self._is_over:
            samples = self._read()
            if resampler is not None:
                samples = resampler.resample_chunk(samples, last=self._is_over)
            pcm = np.clip(np.rint(samples * 32768.0), -32768, 32767).astype("<i2").tobytes()
            yield pcm[self._skip :]
            self._skip = max(0, self._skip - len(pcm))
        self.close()

    def close(self) -> None:
        """Close the file; may be called more than once."""
        self._sound.close()

    def _seek(self, path: Path, frame: int) -> None:
        try:
            self._sound.seek(frame)
        except soundfile.LibsndfileError:
            self.close()
            raise InputError(
                f"{path} has become shorter since the run being resumed; start a new run"
            ) from None

    def _read(self) -> NDArray[np.float32]:
        """The next block as float32 of shape (frames,), with its channels mixed."""
        frames = min(round(_BLOCK_S * self._info.rate), _BLOCK_SAMPLES // self._info.channels)
        block = np.full((frames, self._info.channels), np.nan, dtype=np.float32)
        try:
            count = len(self._sound.read(out=block))
        except soundfile.LibsndfileError:
            # If a stream breaks off, the block contains what was decoded before.
            unwritten = np.isnan(block[:, 0])
            count = int(unwritten.argmax()) if unwritten.any() else frames
            self._is_over = True
        self._is_over = self._is_over or count < frames
        self._frames += count
        return mono(np.nan_to_num(block[:count]))


def _opened(path: Path) -> soundfile.SoundFile | None:
    """The file for libsndfile; None if it is one for FFmpeg's libraries."""
    try:
        if not path.exists():
            raise InputError(f"{path}: {missing(path)}")
        if not path.is_file():
            raise InputError(f"{path}: this is not a file; name one recording")
        if path.stat().st_size == 0:
            raise InputError(f"{path}: it cannot be decoded, because it is empty; record or export it again")
        data = read_wav_data(path)
        if data is not None and data.promised is None and data.present:
            return soundfile.SoundFile(OpenEndedWav(path, data))
        return soundfile.SoundFile(str(path))
    except OSError as error:
        raise InputError(unreadable(path, error)) from error
    except soundfile.LibsndfileError as error:
        reason = error.error_string.rstrip(".")
        if _is_for_libsndfile(path):
            raise InputError(
                f"{path}: it cannot be decoded ({reason}); convert it to WAV or FLAC, for instance with "
                f"`ffmpeg -i {path.name} {path.stem}-converted.wav`"
            ) from error
        return None


def _is_for_libsndfile(path: Path) -> bool:
    """Whether it is WAV or FLAC, which FFmpeg's libraries would read less strictly."""
    with path.open("rb") as file:
        head = file.read(12)
    return head[:4] == b"fLaC" or (head[:4] in _WAV and head[8:] == b"WAVE")


def _info(path: Path, sound: soundfile.SoundFile) -> AudioFileInfo:
    with contextlib.ExitStack() as on_error:
        on_error.callback(sound.close)
        if sound.samplerate not in _RATES:
            raise InputError(
                f"{path}: its header claims {sound.samplerate} samples a second, which no recording has; "
                "export it again"
            )
        if sound.frames <= 0:
            raise InputError(f"{path}: it holds no audio; record or export it again")
        on_error.pop_all()
    data = read_wav_data(path)
    return AudioFileInfo(
        duration_s=sound.frames / sound.samplerate if sound.frames < _UNKNOWN_FRAMES else math.inf,
        rate=sound.samplerate,
        channels=sound.channels,
        missing_s=data.missing_s if data else 0.0,
    )
