"""Decodes recordings to 16 kHz mono samples block by block, with libsndfile or FFmpeg."""

import math
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import numpy as np
import soundfile
import soxr  # type: ignore[import-untyped] # ships no stubs
from numpy.typing import NDArray

from connectors.audio.media import DEFAULT_TRACK, MediaDecoder, TrackChoice
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
# libsndfile's log entry for a WAV file that is shorter than its header says. Programs that cannot know the
# length write sizes from _MIN_OPEN_ENDED on: SoX, arecord, ffmpeg.
_SHORTENED = re.compile(r"^data : (\d+) \(should be \d+\)", re.MULTILINE)
_MIN_OPEN_ENDED = 0x7FFF_0000
# Shorter differences are not worth a report: encoders round lengths.
_MIN_MISSING_S = 0.05


class FileDecoder:
    """Decodes with libsndfile from a position to the end; iterate over `blocks`, then read the figures."""

    #: Description of the chosen track; empty, because there is only one.
    track = ""
    #: Packets that could not be decoded; always 0, because these formats have no packets.
    damaged = 0

    def __init__(self, path: Path, sound: soundfile.SoundFile, position: int) -> None:
        self._sound = sound
        self._rate: int = sound.samplerate
        #: Seconds of audio present; None if the header does not contain the length (FLAC from a pipe).
        self.duration_s = sound.frames / self._rate if sound.frames < _UNKNOWN_FRAMES else None
        shortened = _SHORTENED.search(sound.extra_info)
        is_shortened = shortened is not None and int(shortened[1]) < _MIN_OPEN_ENDED
        self._promised_s = math.inf if is_shortened else self.duration_s or 0.0
        #: Whether it ended before the length that its header promises; false until the end is reached.
        self.is_truncated = False
        # The resampler has state: it is primed with at least a second of audio before the position. A whole
        # second is a whole number of samples at every rate.
        second = max(0, position // SAMPLE_RATE - 1)
        try:
            sound.seek(second * self._rate)
        except soundfile.LibsndfileError:
            sound.close()
            raise InputError(
                f"{path} has become shorter since the run being resumed; start a new run"
            ) from None
        self._frames: int = second * self._rate
        self._skip = 2 * (position - second * SAMPLE_RATE)

    @property
    def read_s(self) -> float:
        """Seconds of the recording decoded, including those before the position."""
        return self._frames / self._rate

    def blocks(self) -> Iterator[bytes]:
        """Blocks of int16 little-endian samples, 16 kHz mono, about half a second each."""
        is_over = False
        # If no resampler is needed, the samples pass unchanged.
        resampler = None
        if self._rate != SAMPLE_RATE:
            resampler = soxr.ResampleStream(self._rate, SAMPLE_RATE, 1, "float32")
        while not is_over:
            samples, is_over = self._read()
            if resampler is not None:
                samples = resampler.resample_chunk(samples, last=is_over)
            pcm = np.clip(np.rint(samples * 32768.0), -32768, 32767).astype("<i2").tobytes()
            yield pcm[self._skip :]
            self._skip = max(0, self._skip - len(pcm))
        self.is_truncated = self._promised_s - self.read_s >= _MIN_MISSING_S
        self.close()

    def close(self) -> None:
        """Close the file; may be called more than once."""
        self._sound.close()

    def _read(self) -> tuple[NDArray[np.float32], bool]:
        """The next block as float32 of shape (frames,), its channels mixed, and whether it is the last."""
        channels = self._sound.channels
        frames = min(round(_BLOCK_S * self._rate), _BLOCK_SAMPLES // channels)
        block = np.full((frames, channels), np.nan, dtype=np.float32)
        try:
            count = len(self._sound.read(out=block))
        except soundfile.LibsndfileError:
            # If a stream breaks off, the block contains what was decoded before.
            unwritten = np.isnan(block[:, 0])
            count = int(unwritten.argmax()) if unwritten.any() else frames
            frames = count + 1
        self._frames += count
        return mono(np.nan_to_num(block[:count])), count < frames


AudioDecoder: TypeAlias = FileDecoder | MediaDecoder


def open_audio(
    recording: Path | str, position: int = 0, stop: threading.Event | None = None,
    choice: TrackChoice = DEFAULT_TRACK,
) -> AudioDecoder:  # fmt: skip
    """Open a recording for decoding.

    Args:
        recording: The path of a file, an address, or ``-`` for standard input.
        position: Where to begin, in 16 kHz samples.
        stop: When set, the blocks end instead of waiting for more of them.

    Raises:
        InputError: when it is missing, is not a file, cannot be read or contains no audio.
        UsageError: when FFmpeg is needed and missing; for an address that cannot be read.
    """
    path = Path(recording)
    sound = _open_file(path) if is_file(str(recording)) else None
    if sound is None:
        return MediaDecoder(str(recording), position, stop, choice=choice)
    if choice.track not in ("", "1"):
        sound.close()
        raise InputError(f"{path}: it has one audio track, without a language; leave out input.track")
    return FileDecoder(path, sound, position)


def _open_file(path: Path) -> soundfile.SoundFile | None:
    """Open a file with libsndfile; None if FFmpeg must decode it, such as a WAV file with size 0."""
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
    if sound.samplerate not in _RATES:
        sound.close()
        raise InputError(f"{path}: its header claims {sound.samplerate} samples a second; export it again")
    if sound.frames == 0:
        sound.close()
        return None
    return sound
