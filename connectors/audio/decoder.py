"""Decodes recordings to 16 kHz mono samples block by block, with libsndfile or FFmpeg."""

import math
import re
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import numpy as np
import soundfile
import soxr  # type: ignore[import-untyped] # ships no stubs
from numpy.typing import NDArray

from connectors.audio.media import ANY, MediaDecoder, Wanted
from connectors.audio.recording import is_file
from operators.errors import InputError, missing, unreadable
from operators.events import SAMPLE_RATE
from operators.sound import mono

_BLOCK_S = 0.5
# Samples of all channels in a block: a header of a few bytes can claim to have a thousand channels.
_BLOCK_SAMPLES = 2**20
_RATES = range(1_000, 768_001)
# libsndfile reports 2^63 - 1 if the header does not contain the length.
_UNKNOWN_FRAMES = 2**62
# What libsndfile notes of a WAV file that is shorter than its header says.
_SHORTENED = re.compile(r"^data : (\d+) \(should be \d+\)", re.MULTILINE)
# Sizes from here on are written by programs that cannot know the length: SoX, arecord, ffmpeg.
_MIN_OPEN_ENDED = 0x7FFF_0000
# Shorter differences are not worth a report: encoders round lengths.
_MIN_MISSING_S = 0.05


class AudioFileInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of a recording's header."""

    #: Seconds of audio present; infinite if the header does not contain the length (FLAC from a pipe).
    duration_s: float
    #: Samples per second and channel, in the file.
    rate: int
    channels: int
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
        sound = _opened(Path(recording)) if is_file(str(recording)) else None
        self._decoder: _FileDecoder | MediaDecoder
        if sound is not None:
            if wanted.track not in ("", "1"):
                sound.close()
                raise InputError(
                    f"{recording}: it has one audio track, without a language; leave out input.track"
                )
            self._decoder = _FileDecoder(Path(recording), sound, position)
            self.info = self._decoder.info
        else:
            self._decoder = media = MediaDecoder(str(recording), position, stop, wanted=wanted)
            self.info = AudioFileInfo(
                duration_s=math.inf if media.duration_s is None else media.duration_s,
                rate=SAMPLE_RATE,
                channels=1,
                track=media.track,
            )

    @property
    def read_s(self) -> float:
        """Seconds of the recording decoded, including those before the position."""
        return self._decoder.read_s

    @property
    def is_truncated(self) -> bool:
        """Whether it ended before the length that its header promises; false until the end is reached."""
        return self._decoder.missing_s >= _MIN_MISSING_S

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

    damaged = 0

    def __init__(self, path: Path, sound: soundfile.SoundFile, position: int) -> None:
        self._sound = sound
        rate = sound.samplerate
        duration_s = sound.frames / rate if sound.frames < _UNKNOWN_FRAMES else math.inf
        self.info = AudioFileInfo(duration_s=duration_s, rate=rate, channels=sound.channels)
        self._promised_s = duration_s if math.isfinite(duration_s) else 0.0
        shortened = _SHORTENED.search(sound.extra_info)
        if shortened and int(shortened[1]) < _MIN_OPEN_ENDED:
            self._promised_s = math.inf
        self.missing_s = 0.0
        # The resampler has a memory, which is filled with a whole second of audio before the position; whole
        # seconds fall on whole samples at every rate.
        second = max(0, position // SAMPLE_RATE - 1)
        try:
            sound.seek(second * rate)
        except soundfile.LibsndfileError:
            sound.close()
            raise InputError(
                f"{path} has become shorter since the run being resumed; start a new run"
            ) from None
        self._frames: int = second * rate
        self._skip = 2 * (position - second * SAMPLE_RATE)

    @property
    def read_s(self) -> float:
        return self._frames / self.info.rate

    def blocks(self) -> Iterator[bytes]:
        rate, is_over = self.info.rate, False
        # If no resampler is needed, the samples pass unchanged.
        resampler = None if rate == SAMPLE_RATE else soxr.ResampleStream(rate, SAMPLE_RATE, 1, "float32")
        while not is_over:
            samples, is_over = self._read()
            if resampler is not None:
                samples = resampler.resample_chunk(samples, last=is_over)
            pcm = np.clip(np.rint(samples * 32768.0), -32768, 32767).astype("<i2").tobytes()
            yield pcm[self._skip :]
            self._skip = max(0, self._skip - len(pcm))
        self.missing_s = self._promised_s - self.read_s
        self.close()

    def close(self) -> None:
        self._sound.close()

    def _read(self) -> tuple[NDArray[np.float32], bool]:
        """The next block as float32 of shape (frames,), its channels mixed, and whether it is the last."""
        frames = min(round(_BLOCK_S * self.info.rate), _BLOCK_SAMPLES // self.info.channels)
        block = np.full((frames, self.info.channels), np.nan, dtype=np.float32)
        try:
            count = len(self._sound.read(out=block))
        except soundfile.LibsndfileError:
            # If a stream breaks off, the block contains what was decoded before.
            unwritten = np.isnan(block[:, 0])
            count = int(unwritten.argmax()) if unwritten.any() else frames
            frames = count + 1
        self._frames += count
        return mono(np.nan_to_num(block[:count])), count < frames


def _opened(path: Path) -> soundfile.SoundFile | None:
    """The file for libsndfile; None if it is one for FFmpeg, as are WAV files that give their size as 0."""
    try:
        if not path.exists():
            raise InputError(f"{path}: {missing(path)}")
        if not path.is_file():
            raise InputError(f"{path}: this is not a file; name one recording")
        if path.stat().st_size == 0:
            raise InputError(f"{path}: it cannot be decoded, because it is empty; record or export it again")
        sound = soundfile.SoundFile(str(path))
    except OSError as error:
        raise InputError(unreadable(path, error)) from error
    except soundfile.LibsndfileError:
        return None
    if sound.frames > 0 and sound.samplerate in _RATES:
        return sound
    rate, log = sound.samplerate, sound.extra_info
    sound.close()
    if rate not in _RATES:
        raise InputError(
            f"{path}: its header claims {rate} samples a second, which no recording has; export it again"
        )
    # Who came back to fill in the outer size means the inner one, too.
    if f"RIFF : {path.stat().st_size - 8}\n" in log:
        raise InputError(f"{path}: it holds no audio; record or export it again")
    return None
