"""Decodes with FFmpeg the sources that libsndfile cannot read: videos, m4a, standard input, addresses."""

import os
import stat
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from subprocess import DEVNULL
from typing import NamedTuple

import numpy as np

from connectors.audio import ffmpeg
from connectors.audio.ffmpeg import Ffmpeg, Header, MediaError, Stream
from connectors.audio.pipe import PipeReader
from connectors.audio.recording import STANDARD_INPUT, shown
from operators.addresses import is_address, parts_of
from operators.errors import InputError, UsageError
from operators.events import SAMPLE_RATE
from operators.languages import is_language, language
from operators.sound import mono

_POLL_S = 0.2
# Seconds without sound after which a broadcast counts as lost. An HLS segment takes up to ten seconds and is
# announced when it is complete. FFmpeg itself mostly gives up after 30 s, and prints a reason.
_LIVE_TIMEOUT_S = 45.0
_BLOCK_S = 0.5
_HEAD_BYTES = 2**14
_LIVE_SCHEMES = ("rtmp", "rtmps")
# A reopened broadcast may repeat at most this much of the audio that was already read.
_MAX_OVERLAP_S = 600.0
_MIN_MISSING_S = 1.0
# Gaps are filled with silence, before the first sample and between samples. Two channels are mixed by `mono`,
# because FFmpeg would lose channels that cancel each other out.
_FILTERS = f"aresample={SAMPLE_RATE}:async=1:first_pts=0,aformat=sample_fmts=s16:channel_layouts=mono|stereo"
_OUTPUT = ["-af", _FILTERS, "-f", "s16le", "-flush_packets", "1", "pipe:1"]
_PIPED_MP4 = " (or an MP4 in a pipe whose index is at its end: give the file itself)"


class TrackChoice(NamedTuple):
    #: Its number, from 1, or the code of its language; empty for the one in the spoken language.
    track: str = ""
    #: The code of the spoken language; empty if it is not known.
    spoken: str = ""


DEFAULT_TRACK = TrackChoice()


class MediaDecoder:
    """Decodes a recording from a position to its end; iterate over `blocks`, then read the figures.

    A position is reached by decoding all audio before it: otherwise the samples would differ.

    Args:
        recording: The path of a file, an address, or ``-``.
        position: Where to begin, in 16 kHz samples.
        stop: When set, the blocks end without further waiting.
        is_live: Whether it is a broadcast.
        heard_s: End of the audio already read from a broadcast, in seconds on its own clock.

    Raises:
        InputError: when it cannot be decoded.
        UsageError: when FFmpeg is missing; for an address that cannot be read.
    """

    def __init__(
        self, recording: str, position: int = 0, stop: threading.Event | None = None, *,
        is_live: bool = False, heard_s: float | None = None, choice: TrackChoice = DEFAULT_TRACK,
    ) -> None:  # fmt: skip
        ffmpeg.require(shown(recording))
        _check(recording, is_live=is_live)
        self._recording, self._is_live, self._is_again = recording, is_live, heard_s is not None
        self._stop = stop or threading.Event()
        self._samples, self._skip = position, 2 * position
        self._is_over = False
        try:
            self._open(choice)
        except MediaError as error:
            self.close()
            hint = _PIPED_MP4 if recording == STANDARD_INPUT else ""
            raise InputError(
                f"{shown(recording)}: it cannot be decoded, because {error.why}{hint}; {error.remedy}"
            ) from None
        header = self._ffmpeg.header
        #: None if unknown.
        self.duration_s = header.duration_s
        #: Description of the chosen track for messages; empty if there is only one.
        self.track = _description(header)
        #: The first time stamp of HLS, in seconds.
        self.begin_s = header.start_s if header.duration_s is None and header.format == "hls" else None
        if self.begin_s is not None and heard_s is not None and 0 < heard_s - self.begin_s < _MAX_OVERLAP_S:
            self._skip, self.begin_s = 2 * round((heard_s - self.begin_s) * SAMPLE_RATE), heard_s

    @property
    def read_s(self) -> float:
        """Seconds decoded, including those before the position."""
        return self._samples / SAMPLE_RATE

    @property
    def is_truncated(self) -> bool:
        """Whether it ended before the length that its header promises; false until the end is reached."""
        if not self._is_over or not self._ffmpeg.is_cut or self.duration_s is None:
            return False
        return self.duration_s - self.read_s >= _MIN_MISSING_S

    @property
    def damaged(self) -> int:
        """Packets that could not be decoded so far."""
        return self._ffmpeg.damaged

    def blocks(self) -> Iterator[bytes]:
        """Blocks of int16 little-endian samples, 16 kHz mono, about half a second each."""
        while block := self._next():
            frames = np.frombuffer(block, "<i2").reshape(-1, self._ffmpeg.header.channels)
            pcm = np.rint(mono(frames.astype(np.float32))).astype("<i2").tobytes()
            skipped = min(self._skip, len(pcm))
            self._skip -= skipped
            if pcm := pcm[skipped:]:
                self._samples += len(pcm) // 2
                yield pcm
        if not self._stop.is_set():
            if self._ffmpeg.wait() and not self._is_live:
                self._ffmpeg.is_cut = True
                self._ffmpeg.damaged = max(1, self._ffmpeg.damaged)
            self._is_over = True
        self.close()

    def close(self) -> None:
        """End the process; may be called more than once."""
        self._finish()

    def _open(self, choice: TrackChoice) -> None:
        """Begin to decode the chosen track, which may be known only from the header."""
        number = int(choice.track) if choice.track.isdecimal() else 0
        self._start(f"0:a:{number - 1}" if number else None)
        header = self._ffmpeg.header
        if header.format and not self._stop.is_set():
            index = _find_track(header, choice).number
            is_other = header.mapped not in (index, None)
            if is_other and self._url != "pipe:0":
                self.close()
                self._start(f"0:{index}")
            elif is_other and choice.track:
                raise MediaError("a pipe is read once", "give the number in input.track")
        if not self._head and not self._stop.is_set():
            self._ffmpeg.wait()
            codec = next((one.codec for one in header.of("Audio") if one.number == header.mapped), None)
            if codec is None:
                raise self._ffmpeg.reason()
            raise MediaError(
                f"its audio track ({codec}) has no packets that can be decoded: it is encrypted, damaged or "
                "empty",
                "export it again without copy protection",
            )

    def _start(self, track: str | None) -> None:
        self._url = _url(self._recording)
        arguments = ffmpeg.opening(self._url, again=self._is_again)
        stdin: bytes | int | None = None if self._recording == STANDARD_INPUT else DEVNULL
        if self._url.lower().startswith(_LIVE_SCHEMES):
            stdin = ffmpeg.concat_list(self._url)
        self._ffmpeg = Ffmpeg([*arguments, *(["-map", track] if track else []), *_OUTPUT], stdin)
        assert self._ffmpeg.process.stdout is not None
        self._output = PipeReader(self._ffmpeg.process.stdout)
        self._finish = weakref.finalize(self, _end, self._ffmpeg, self._output)
        self._head = self._receive(_HEAD_BYTES)
        if not self._stop.is_set():
            self._ffmpeg.wait_for_header()

    def _next(self) -> bytes:
        """The next block; a shorter one is the last."""
        frame = 2 * self._ffmpeg.header.channels
        size = round(_BLOCK_S * SAMPLE_RATE) * frame
        block, self._head = self._head, b""
        while len(block) < size and (more := self._receive(size - len(block))):
            block += more
        return b"" if self._stop.is_set() else block[: len(block) // frame * frame]

    def _receive(self, size: int) -> bytes:
        """The next bytes of the output; none at the end, or when the run is stopped."""
        deadline = time.monotonic() + _LIVE_TIMEOUT_S
        while (block := self._output.read(size, _POLL_S)) is None:
            if self._is_live and time.monotonic() > deadline:
                self._ffmpeg.process.kill()
            if self._stop.is_set():
                return b""
        return block


def _end(decoding: Ffmpeg, output: PipeReader) -> None:
    decoding.end()
    output.close()


def _check(recording: str, *, is_live: bool) -> None:
    if recording == STANDARD_INPUT and (sys.stdin is None or sys.stdin.isatty()):
        raise UsageError(
            "standard input is a terminal, not a recording; write: ffmpeg … | surtitle file -, or give a file"
        )
    if not is_address(recording):
        return
    scheme, where = recording.partition(":")[0].lower(), shown(recording)
    if parts_of(recording) is None:
        raise UsageError(f"{where} is not an address; give one such as https://example.org/talk.mp3")
    if scheme in _LIVE_SCHEMES and not is_live:
        raise UsageError(f"{where}: {scheme} addresses are live; write: surtitle live {where}")
    if scheme not in ("http", "https", *_LIVE_SCHEMES):
        raise UsageError(
            f"{where}: {scheme} addresses are not read; give one of http or https, or rtmp for surtitle live"
        )


def _url(recording: str) -> str:
    if is_address(recording):
        return recording
    if recording != STANDARD_INPUT:
        return f"file:{Path(recording).absolute()}"
    if sys.platform == "win32" or not stat.S_ISREG(os.fstat(0).st_mode):
        return "pipe:0"
    # The index may be at the end, so FFmpeg must be able to seek. macOS opens it at the current position.
    os.lseek(0, 0, os.SEEK_SET)
    return "file:/dev/fd/0"


def _find_track(header: Header, choice: TrackChoice) -> Stream:
    """The chosen track, or the one in the spoken language, or the default one."""
    if not (tracks := header.of("Audio")):
        raise MediaError("it has no audio track", "give a recording with sound")
    if choice.track.isdecimal():
        found = [one for number, one in enumerate(tracks, 1) if number == int(choice.track)]
    else:
        code = choice.track or choice.spoken
        found = [one for one in tracks if code and _code(one) == code]
    if choice.track and not found:
        asked = choice.track if choice.track.isdecimal() else f"in {language(choice.track).name}"
        raise MediaError(f"it has no audio track {asked} ({_names(tracks)})", "choose another input.track")
    default = next((one for one in tracks if one.number == header.mapped), tracks[0])
    # Prefer the default track, then the first one: an audio description may be in the same language.
    return max(found, key=lambda one: one.is_default, default=default)


def _code(track: Stream) -> str:
    """The code of a track's language; empty if it is not known."""
    return language(track.language).base if is_language(track.language) else ""


def _names(tracks: list[Stream]) -> str:
    codes = map(_code, tracks)
    names = [language(code).name if code else "in a language that is not named" for code in codes]
    return ", ".join(f"{number} {name}" for number, name in enumerate(names, 1))


def _description(header: Header) -> str:
    tracks = header.of("Audio")
    numbers = [one.number for one in tracks]
    if len(tracks) < 2 or header.mapped not in numbers:
        return ""
    return f"audio track {1 + numbers.index(header.mapped)} of {len(tracks)} ({_names(tracks)})"
