"""Decodes what libsndfile cannot read, in a child process: videos, m4a, standard input, addresses.

The libraries of FFmpeg parse foreign bytes in C. In a process of their own, a file that crashes them or asks
for gigabytes ends that process only.
"""

import os
import select
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path

import msgspec

from connectors.audio.media_process import ANY, DAMAGED, OPENS, Ended, Opened, Refused, Wanted
from connectors.audio.recording import STANDARD_INPUT, shown
from operators.addresses import is_address, parts_of
from operators.errors import InputError, UsageError
from operators.events import SAMPLE_RATE
from operators.extras import EXTRAS, require_extra

_WAIT_MS = 200
_READ = 2**16
_MAX_LINE = 2**14
_END_S = 2.0
_SCHEMES = ("http", "https")
#: Those that are only live.
LIVE_SCHEMES = ("rtmp", "rtmps")
# Its index can only be found by going back.
_FOR_PIPES = " (or an MP4 in a pipe whose index is at its end: give the file itself)"
_NO_REPLY = b""
_REPLY = msgspec.json.Decoder(Opened | Refused | Ended)


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
        UsageError: when the extra is missing; for an address that cannot be read.
    """

    def __init__(
        self,
        recording: str,
        position: int = 0,
        stop: threading.Event | None = None,
        *,
        live: bool = False,
        heard_s: float | None = None,
        wanted: Wanted = ANY,
    ) -> None:
        require_extra(EXTRAS["media"], shown(recording))
        _check(recording, live=live)
        self._shown = shown(recording)
        self._stop = stop or threading.Event()
        self._buffer = bytearray()
        self._samples = position
        self._ended: Ended | None = None
        self._damaged = 0
        #: Whether the process ended before the recording.
        self._broke = False
        self._process = _start(recording, position, wanted, heard_s)
        assert self._process.stdout is not None
        self._fd = self._process.stdout.fileno()
        self._finish = weakref.finalize(self, _end, self._process)
        reply = self._line()
        if isinstance(reply, Refused):
            self.close()
            more = _FOR_PIPES if recording == STANDARD_INPUT else ""
            raise InputError(
                f"{self._shown}: it cannot be decoded, because {reply.why}{more}; {reply.remedy}"
            )
        if reply is None and self._stop.is_set():
            reply = Opened(duration_s=None, rate=SAMPLE_RATE, channels=1)  # nobody waits for what it is
        if not isinstance(reply, Opened):
            self.close()
            raise InputError(
                f"{self._shown}: it cannot be decoded, because FFmpeg's libraries failed on it; "
                "convert it to WAV or FLAC"
            )
        #: What the header says.
        self.opened = reply

    @property
    def read_s(self) -> float:
        """Seconds decoded, including those before the position."""
        return self._samples / SAMPLE_RATE

    @property
    def missing_s(self) -> float:
        """Seconds that the header promised but were not there; 0 until the end is reached."""
        if self._broke and self.opened.duration_s is not None:
            return max(0.0, self.opened.duration_s - self.read_s)
        return self._ended.missing_s if self._ended else 0.0

    @property
    def damaged(self) -> int:
        """Packets that were left out so far."""
        return self._ended.damaged if self._ended else self._damaged + self._broke

    def blocks(self) -> Iterator[bytes]:
        """Blocks of int16 little-endian samples, 16 kHz mono, about half a second each."""
        while not self._stop.is_set() and (size := int.from_bytes(self._take(4), "little")):
            if size == DAMAGED:
                self._damaged = int.from_bytes(self._take(4), "little")
                continue
            pcm = self._take(min(size, _READ))
            self._samples += len(pcm) // 2
            if pcm:
                yield pcm
        if not self._stop.is_set():
            reply = self._line()
            self._ended = reply if isinstance(reply, Ended) else None
            self._broke = self._ended is None
        self.close()

    def close(self) -> None:
        """End the process; may be called more than once."""
        self._finish()

    def _take(self, count: int) -> bytes:
        """Exactly so many bytes; none when the process ended or the run is stopped."""
        while len(self._buffer) < count:
            if not self._receive():
                return _NO_REPLY
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken

    def _line(self) -> Opened | Refused | Ended | None:
        while (end := self._buffer.find(b"\n")) < 0:
            if len(self._buffer) > _MAX_LINE or not self._receive():
                return None
        line = self._take(end + 1)
        try:
            reply: Opened | Refused | Ended = _REPLY.decode(line)
        except msgspec.MsgspecError:
            return None
        return reply

    def _receive(self) -> bool:
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        while not poll.poll(_WAIT_MS):
            if self._stop.is_set():
                return False
        received = os.read(self._fd, _READ)
        self._buffer += received
        return bool(received)


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


def _start(recording: str, position: int, wanted: Wanted, heard_s: float | None) -> subprocess.Popen[bytes]:
    is_piped = recording == STANDARD_INPUT
    if is_piped:
        opens = "fd:"
    else:
        opens = recording if is_address(recording) else f"file:{Path(recording).absolute()}"
    heard = [] if heard_s is None else [str(heard_s)]
    return subprocess.Popen(
        [sys.executable, "-m", "connectors.audio.media_process", str(position), *wanted, *heard],
        stdin=None if is_piped else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | {OPENS: opens, "PYTHONPATH": os.pathsep.join(sys.path), "OPENBLAS_NUM_THREADS": "1"},
        start_new_session=True,  # Ctrl-C is for this process, which then ends that one
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    if process.stdout is not None:
        process.stdout.close()
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:
        return
