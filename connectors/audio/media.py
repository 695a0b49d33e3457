"""Decodes what libsndfile cannot read, by FFmpeg: videos, m4a, standard input, addresses."""

import os
import select
import stat
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from connectors.audio import ffmpeg
from connectors.audio.ffmpeg import Ffmpeg, Header, Refusal, Stream
from connectors.audio.recording import STANDARD_INPUT, shown
from operators.addresses import is_address, parts_of
from operators.errors import InputError, UsageError
from operators.events import SAMPLE_RATE
from operators.languages import is_language, language
from operators.sound import mono

_WAIT_MS = 200
_BLOCK_S = 0.5
_READ = 2**14
_SCHEMES = ("http", "https")
#: Those that are only live.
LIVE_SCHEMES = ("rtmp", "rtmps")
#: Clocks of a broadcast that jump further are those of another one.
MAX_GAP_S = 60.0
# What a broadcast may offer again of what was heard.
_MAX_HEARD_S = 600.0
_MIN_MISSING_S = 1.0
# Silence takes the place of what is not there: before the first sample, and between two.
# Two channels stay two: those that cancel each other are mixed otherwise than FFmpeg does it.
_FILTERS = f"aresample={SAMPLE_RATE}:async=1:first_pts=0,aformat=sample_fmts=s16:channel_layouts=mono|stereo"
_SOUND = ["-af", _FILTERS, "-f", "s16le", "-flush_packets", "1", "pipe:1"]
# Its index can only be found by going back.
_FOR_PIPES = " (or an MP4 in a pipe whose index is at its end: give the file itself)"


class Wanted(NamedTuple):
    """Which track of sound is wanted."""

    #: Its number, from 1, or the code of its language; empty for the one in the spoken language.
    track: str = ""
    #: The code of the spoken language; empty if it is not known.
    spoken: str = ""


#: The default one.
ANY = Wanted()


class MediaDecoder:
    """Decodes a recording from a position to its end; iterate over `blocks`, then read the figures.

    Positions within are reached by decoding what comes before, so that the samples are the same.

    Args:
        recording: The path of a file, an address, or ``-``.
        position: Where to begin, in 16 kHz samples.
        stop: When set, nothing is waited for, and the blocks end.
        live: Whether it is a broadcast.
        heard_s: How much of a broadcast was heard before, by its own clock in seconds.
        wanted: Which track of sound; absent for the default one.

    Raises:
        InputError: when it cannot be decoded.
        UsageError: when FFmpeg is missing; for an address that cannot be read.
    """

    def __init__(
        self, recording: str, position: int = 0, stop: threading.Event | None = None, *, live: bool = False,
        heard_s: float | None = None, wanted: Wanted = ANY,
    ) -> None:  # fmt: skip
        ffmpeg.require(shown(recording))
        _check(recording, live=live)
        self._recording, self._again = recording, heard_s is not None
        self._stop = stop or threading.Event()
        self._head = b""
        self._samples, self._skip = position, 2 * position
        self._is_over = False
        self._finish: Callable[[], object] = lambda: None
        try:
            header = self._open(wanted)
        except Refusal as refusal:
            self.close()
            more = _FOR_PIPES if recording == STANDARD_INPUT else ""
            raise InputError(
                f"{shown(recording)}: it cannot be decoded, because {refusal.why}{more}; {refusal.remedy}"
            ) from None
        #: Absent if unknown.
        self.duration_s = header.duration_s
        #: Which of several tracks it is, for a sentence.
        self.track = _told(header)
        #: When it begins by its own clock, in seconds, if it is a broadcast that has one.
        self.begin_s = header.start_s if header.duration_s is None and header.format == "hls" else None
        if self.begin_s is not None and heard_s is not None:
            ahead_s = heard_s - self.begin_s
            if 0 < ahead_s < _MAX_HEARD_S:
                self._skip, self.begin_s = 2 * round(ahead_s * SAMPLE_RATE), heard_s

    @property
    def read_s(self) -> float:
        """Seconds decoded, including those before the position."""
        return self._samples / SAMPLE_RATE

    @property
    def missing_s(self) -> float:
        """Seconds that the header promised but were not there; 0 until the end is reached."""
        if not self._is_over or not self._ffmpeg.is_cut or self.duration_s is None:
            return 0.0
        missing_s = self.duration_s - self.read_s
        return missing_s if missing_s >= _MIN_MISSING_S else 0.0

    @property
    def damaged(self) -> int:
        """Packets that were left out so far."""
        return self._ffmpeg.damaged

    def blocks(self) -> Iterator[bytes]:
        """Blocks of int16 little-endian samples, 16 kHz mono, about half a second each."""
        while block := self._take():
            frames = np.frombuffer(block, "<i2").reshape(-1, self._ffmpeg.header.channels)
            pcm = np.rint(mono(frames.astype(np.float32))).astype("<i2").tobytes()
            skipped = min(self._skip, len(pcm))
            self._skip -= skipped
            if pcm := pcm[skipped:]:
                self._samples += len(pcm) // 2
                yield pcm
        if not self._stop.is_set():
            if self._ffmpeg.wait():
                self._ffmpeg.is_cut = True
                self._ffmpeg.damaged = max(1, self._ffmpeg.damaged)
            self._is_over = True
        self.close()

    def close(self) -> None:
        """End the process; may be called more than once."""
        self._finish()

    def _open(self, wanted: Wanted) -> Header:
        """Begin to decode the track that is wanted, which only its header can tell."""
        number = int(wanted.track) if wanted.track.isdecimal() else 0
        self._start(f"0:a:{number - 1}" if number else None)
        header = self._ffmpeg.header
        if header.format and not self._stop.is_set():
            number = _track(header, wanted).number
            if header.mapped not in (number, None):
                if self._opens == "pipe:0":
                    if not wanted.track:
                        return header
                    raise Refusal("a pipe is read once", "give the number in input.track")
                self.close()
                self._start(f"0:{number}")
        if not self._head and not self._stop.is_set():
            self._ffmpeg.wait()
            codec = next((one.codec for one in header.of("Audio") if one.number == header.mapped), None)
            if codec is None:
                raise self._ffmpeg.reason()
            raise Refusal(
                f"its audio track ({codec}) has no packets that can be decoded: it is encrypted, damaged or "
                "empty",
                "export it again without copy protection",
            )
        return self._ffmpeg.header

    def _start(self, track: str | None) -> None:
        self._opens = _opens(self._recording)
        self._ffmpeg = Ffmpeg(
            [
                *ffmpeg.opening(self._opens, again=self._again), *(["-map", track] if track else []),
                *_SOUND,
            ],
            ffmpeg.listed(self._recording),
            takes_input=self._recording == STANDARD_INPUT,
        )  # fmt: skip
        self._finish = weakref.finalize(self, ffmpeg.end, self._ffmpeg.process)
        self._head = self._receive(_READ)
        if not self._stop.is_set():
            self._ffmpeg.wait_for_header()

    def _take(self) -> bytes:
        """The next block; a shorter one is the last."""
        frame = 2 * self._ffmpeg.header.channels
        size = round(_BLOCK_S * SAMPLE_RATE) * frame
        block, self._head = self._head, b""
        while len(block) < size and (more := self._receive(size - len(block))):
            block += more
        return b"" if self._stop.is_set() else block[: len(block) // frame * frame]

    def _receive(self, size: int) -> bytes:
        """What comes next, up to so many bytes; none at the end, or when the run is stopped."""
        assert self._ffmpeg.process.stdout is not None
        if self._ffmpeg.process.stdout.closed:
            return b""
        file = self._ffmpeg.process.stdout.fileno()
        poll = select.poll()
        poll.register(file, select.POLLIN)
        while not poll.poll(_WAIT_MS):
            if self._stop.is_set():
                return b""
        return os.read(file, size)


def _check(recording: str, *, live: bool) -> None:
    if recording == STANDARD_INPUT and (sys.stdin is None or sys.stdin.isatty()):
        raise UsageError(
            "standard input is a terminal, not a recording; write: ffmpeg … | surtitle file -, or give a file"
        )
    if not is_address(recording):
        return
    scheme, where = recording.partition(":")[0].lower(), shown(recording)
    if parts_of(recording) is None:
        raise UsageError(f"{where} is no address; give one such as https://example.org/talk.mp3")
    if scheme in LIVE_SCHEMES and not live:
        raise UsageError(f"{where}: {scheme} addresses are live; write: surtitle live {where}")
    if scheme not in (*_SCHEMES, *LIVE_SCHEMES):
        raise UsageError(
            f"{where}: {scheme} addresses are not read; give one of http or https, or rtmp for surtitle live"
        )


def _opens(recording: str) -> str:
    if is_address(recording):
        return recording
    if recording != STANDARD_INPUT:
        return f"file:{Path(recording).absolute()}"
    # The index of a file may be at its end.
    return "file:/dev/fd/0" if stat.S_ISREG(os.fstat(0).st_mode) else "pipe:0"


def _track(header: Header, wanted: Wanted) -> Stream:
    """The track of sound that is asked for, or the one in the spoken language, or the default one."""
    if not (tracks := header.of("Audio")):
        raise Refusal("it has no audio track", "give a recording with sound")
    code = wanted.track or wanted.spoken
    fitting = [one for one in tracks if code and _code(one) == code]
    if wanted.track.isdecimal():
        number = int(wanted.track)
        fitting = tracks[number - 1 : number] if number else []
    if wanted.track and not fitting:
        asked = wanted.track if wanted.track.isdecimal() else f"in {language(wanted.track).name}"
        raise Refusal(f"it has no audio track {asked} ({_listed(tracks)})", "choose another input.track")
    default = next((one for one in tracks if one.number == header.mapped), tracks[0])
    # The first of the best: a description for the blind may be in the same language.
    return max(fitting, key=lambda one: one.is_default, default=default)


def _code(track: Stream) -> str:
    """The code of a track's language; empty if it is not known."""
    return language(track.language).base if is_language(track.language) else ""


def _listed(tracks: list[Stream]) -> str:
    return ", ".join(f"{number} {_name(one)}" for number, one in enumerate(tracks, 1))


def _name(track: Stream) -> str:
    return language(code).name if (code := _code(track)) else "in a language that is not named"


def _told(header: Header) -> str:
    tracks = header.of("Audio")
    numbers = [one.number for one in tracks]
    if len(tracks) < 2 or header.mapped not in numbers:
        return ""
    return f"audio track {1 + numbers.index(header.mapped)} of {len(tracks)} ({_listed(tracks)})"
