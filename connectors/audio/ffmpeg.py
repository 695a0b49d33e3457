"""Runs the program FFmpeg: the system's, or else the one in the package imageio-ffmpeg.

It parses untrusted bytes in C: a file that crashes it or makes it allocate gigabytes ends only that process.
"""

import re
import secrets
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path, PurePosixPath
from subprocess import DEVNULL
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from operators.extras import EXTRAS, missing, require_extra

#: Bytes that FFmpeg may allocate, on Linux. The index of a day of sound takes a tenth.
MEMORY_LIMIT = 2**30
_END_S = 2.0
# Ctrl-C must reach this process only, which then ends FFmpeg.
_APART: dict[str, Any]
if sys.platform == "win32":
    _APART = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
else:
    _APART = {"start_new_session": True}
# Seconds without data from an address, and for its first connection.
_TIMEOUT_S = 30
_REMARK = re.compile(r"(?:\[[^]]* @ [^]]*\] )*\[(\w+)\] (.*)")
_INPUT = re.compile(r"Input #0, (\S+), from ")
_DURATION = re.compile(r"  Duration: (?:N/A|(\d+):(\d\d):(\d\d\.\d+))(?:, start: (-?[\d.]+))?")
_STREAM = re.compile(r"  Stream #0:(\d+)(?:\[\w+\])?(?:\(([^)]*)\))?: (\w+): ([\w-]+)(.*)")
_ABOUT = re.compile(r"      (\w+) *: (.*)")
_MAPPED = re.compile(r"  Stream #0:(\d+) -> #0:0")
_MADE = re.compile(r"  Stream #0:0.*: Audio: pcm_s16le, \d+ Hz, (mono|stereo)")
_DAMAGED = ("Error submitting packet to decoder", "Error while decoding stream")
_CUT = ("partial file", "File ended prematurely", "Stream ends prematurely", "Error during demuxing")
_MAX_REMARKS = 50


class MediaError(Exception):
    """Why something cannot be done, and what to do: parts of a sentence."""

    def __init__(self, why: str, remedy: str) -> None:
        super().__init__(why)
        self.why, self.remedy = why, remedy


class Stream(NamedTuple):
    number: int
    #: ``Audio``, ``Video``, ``Subtitle``, ``Attachment`` or ``Data``.
    kind: str
    codec: str
    #: The container's language tag; empty if there is none.
    language: str
    is_default: bool
    #: Whether it is a picture, such as a cover.
    is_cover: bool
    #: Metadata, such as its name.
    about: dict[str, str]


@dataclass
class Header:
    """What FFmpeg printed about its input."""

    #: Names of the container; empty if the input could not be opened.
    format: str = ""
    duration_s: float | None = None
    #: First time stamp.
    start_s: float = 0.0
    streams: list[Stream] = field(default_factory=list)
    #: Index of the track that becomes the first of the output.
    mapped: int | None = None
    #: Channels of the output, if that is sound.
    channels: int = 1

    def of(self, kind: str) -> list[Stream]:
        return [one for one in self.streams if one.kind == kind]

    def read(self, line: str) -> None:
        """Parse a line of FFmpeg's description of its input."""
        if found := _INPUT.match(line):
            self.format = found[1].rstrip(",")
        elif found := _DURATION.match(line):
            hours, minutes, seconds, start = found.groups()
            if hours is not None:
                self.duration_s = 3600 * int(hours) + 60 * int(minutes) + float(seconds)
            self.start_s = float(start or 0)
        elif found := _STREAM.match(line):
            index, language, kind, codec, more = found.groups()
            flags = re.findall(r"\(([a-z ]+)\)", more)
            is_cover = "attached pic" in flags
            self.streams.append(
                Stream(int(index), kind, codec, language or "", "default" in flags, is_cover, {})
            )
        elif self.streams and (found := _ABOUT.match(line)):
            self.streams[-1].about.setdefault(found[1].lower(), found[2])


class Ffmpeg:
    """A running FFmpeg process, whose messages are parsed on a thread.

    Args:
        stdin: What to write to its standard input, or what to connect it with: see `subprocess.Popen`.
        limit: Bytes that it may allocate; None for any number.
    """

    def __init__(
        self, arguments: Sequence[str], stdin: bytes | int | None = DEVNULL,
        *, limit: int | None = MEMORY_LIMIT, folder: str | None = None,
    ) -> None:  # fmt: skip
        general = ["-hide_banner", "-nostdin", "-nostats", "-loglevel", "repeat+level+info"]
        self.process: subprocess.Popen[bytes] = subprocess.Popen(
            [program(), *general, *arguments],
            stdin=subprocess.PIPE if isinstance(stdin, bytes) else stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            **_APART,
        )
        if limit is not None and sys.platform == "linux":
            import resource

            with suppress(OSError):
                resource.prlimit(self.process.pid, resource.RLIMIT_DATA, (limit, limit))
        if isinstance(stdin, bytes) and self.process.stdin is not None:
            with suppress(OSError), self.process.stdin as pipe:
                pipe.write(stdin)
        #: Complete as soon as there is output.
        self.header = Header()
        #: Packets that could not be decoded so far.
        self.damaged = 0
        #: Whether the recording breaks off.
        self.is_cut = False
        #: Its last warnings and errors.
        self.remarks: list[str] = []
        self._has_header = threading.Event()
        self._reader = threading.Thread(target=self._read, name="ffmpeg", daemon=True)
        self._reader.start()

    def wait_for_header(self) -> None:
        """Wait until the header is complete, or the process has ended."""
        self._has_header.wait(_TIMEOUT_S)

    def output(self, seconds: float) -> bytes:
        """All of its output; the process is killed after ``seconds``."""
        timeout = threading.Timer(seconds, self.process.kill)
        timeout.start()
        with self.process.stdout as stdout:  # type: ignore[union-attr] # it is there
            made = stdout.read()
        self.wait()
        timeout.cancel()
        return made

    def wait(self) -> int:
        """Wait for its end and its last message; returns the exit status."""
        status = self.process.wait()
        self._reader.join(_TIMEOUT_S)
        return status

    def end(self) -> None:
        end(self.process)

    def reason(self) -> MediaError:
        """The error for an end without a result, from the last message."""
        last = self.remarks[-1].rpartition(": ")[2] if self.remarks else "FFmpeg failed"
        if last.startswith("Invalid data found"):
            return MediaError(
                "FFmpeg does not support its format, or its beginning or its index is cut off",
                "copy or export it again",
            )
        return MediaError(f"the system says: {last}", "check it, and give a recording")

    def _read(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as stderr:
            for line in stderr:
                if found := _REMARK.match(line.decode(errors="replace")):
                    self._parse(*found.groups())
        self._has_header.set()

    def _parse(self, level: str, text: str) -> None:
        if level == "info":
            if found := _MAPPED.match(text):
                self.header.mapped = int(found[1])
            elif self.header.mapped is None:
                self.header.read(text)
            elif not self._has_header.is_set() and (found := _MADE.match(text)):
                self.header.channels = 1 + (found[1] == "stereo")
                self._has_header.set()
        if level in ("warning", "error", "fatal"):
            self.remarks = [*self.remarks[1 - _MAX_REMARKS :], text]
            self.damaged += text.startswith(_DAMAGED)
            self.is_cut = self.is_cut or any(one in text for one in _CUT)


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process; may be called more than once."""
    process.kill()
    if process.stdout is not None:
        process.stdout.close()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_END_S)


@lru_cache(1)
def program() -> str:
    """The path of the program; check `is_there` first."""
    if (found := shutil.which("ffmpeg")) is not None:
        return found
    import imageio_ffmpeg

    own: str = imageio_ffmpeg.get_ffmpeg_exe()
    return own


def is_there() -> bool:
    return shutil.which("ffmpeg") is not None or not missing(EXTRAS["media"])


def require(what: str) -> None:
    """Raise a `UsageError` that says what needs FFmpeg, if it is not installed."""
    if not is_there():
        require_extra(EXTRAS["media"], what)


def probe(recording: Path) -> Header:
    """The header of a file. Raises `MediaError` if it cannot be read."""
    # FFmpeg exits with an error because there is no output, but prints the header before.
    ffmpeg = Ffmpeg(opening(f"file:{recording.absolute()}"))
    ffmpeg.output(2 * _TIMEOUT_S)
    if not ffmpeg.header.format:
        raise ffmpeg.reason()
    return ffmpeg.header


def opening(url: str, *, again: bool = False) -> list[str]:
    """The arguments that open an input with the protocols that it may use.

    Args:
        url: A file, a pipe or an address. An RTMP address is written to standard input: see `concat_list`.
        again: Whether a lost broadcast is reopened: its list of segments is then read from further back.
    """
    scheme = url.partition(":")[0].lower()
    if scheme.startswith("rtmp"):
        reached = "rtmp,rtmpt,rtmps,rtmpts,tcp,tls,http,https,pipe"
        return ["-protocol_whitelist", reached, "-f", "concat", "-safe", "0", "-i", "pipe:0"]
    if scheme not in ("http", "https"):
        # A playlist must not make this read other files, or a file reach into the network.
        return ["-protocol_whitelist", scheme, "-max_streams", "100", "-i", url]
    options = {
        "protocol_whitelist": "http,https,tls,tcp,crypto", "rw_timeout": str(_TIMEOUT_S * 1_000_000),
        "reconnect": "1", "reconnect_delay_max": "10", "max_streams": "100",
    }  # fmt: skip
    if "m3u8" in urlsplit(url).path.lower():
        # Maximum reloads of a list of segments that no longer changes.
        options["m3u8_hold_counters"] = "10"
        # Players begin three segments before the last one.
        options["live_start_index"] = "-20" if again else "-3"
    return [*(word for name, value in options.items() for word in (f"-{name}", value)), "-i", _redirect(url)]


def concat_list(address: str) -> bytes:
    """The list of FFmpeg's concat demuxer that names an address."""
    quoted = address.replace("'", r"'\''")
    return f"ffconcat version 1.0\nfile '{quoted}'\n".encode()


def _redirect(address: str) -> str:
    """A local address that redirects to another one, once.

    All users of a machine can see a process's arguments, and an address may contain a password.
    """
    server = socket.create_server(("127.0.0.1", 0))
    server.settimeout(_TIMEOUT_S)
    key = secrets.token_urlsafe()
    answer = f"HTTP/1.1 302 Found\r\nLocation: {address}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

    def serve() -> None:
        with server, suppress(OSError):
            is_served = False
            while not is_served:
                connection, _ = server.accept()
                with connection:
                    connection.settimeout(1.0)
                    if is_served := key.encode() in connection.recv(2**14):
                        connection.sendall(answer.encode())

    threading.Thread(target=serve, name="address", daemon=True).start()
    name = PurePosixPath(urlsplit(address).path).name
    return f"http://127.0.0.1:{server.getsockname()[1]}/{key}/{name}"
