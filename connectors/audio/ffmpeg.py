"""FFmpeg, the program: the system's, or else that of the package imageio-ffmpeg.

It parses foreign bytes in C: a file that crashes it or asks for gigabytes ends that process only.
"""

import re
import resource
import secrets
import shutil
import socket
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from urllib.parse import urlsplit

from operators.addresses import is_address
from operators.extras import EXTRAS, missing, require_extra

#: Bytes that it may allocate, where the system can bound them (Linux). The index of a day of sound takes a
#: tenth.
MEMORY_LIMIT = 2**30
_MAX_BLOCK = 2**28
_END_S = 2.0
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
_LAST_REMARKS = 50


class Refusal(Exception):  # noqa: N818 - an answer
    """Why something cannot be done, and what to do: parts of a sentence."""

    def __init__(self, why: str, remedy: str) -> None:
        super().__init__(why)
        self.why, self.remedy = why, remedy


class Stream(NamedTuple):
    """A track of a recording."""

    number: int
    #: ``Audio``, ``Video``, ``Subtitle``, ``Attachment`` or ``Data``.
    kind: str
    codec: str
    #: As its container has it; empty if it does not say.
    language: str
    is_default: bool
    #: Whether it is a picture, such as a cover.
    is_cover: bool
    #: Its name and the like.
    about: dict[str, str]


class Header:
    """What it told of its input."""

    def __init__(self) -> None:
        #: Names of the container; empty for what could not be opened.
        self.format = ""
        self.duration_s: float | None = None
        #: When it begins by its own clock.
        self.start_s = 0.0
        self.streams: list[Stream] = []
        #: Index of the track that becomes the first of the output.
        self.mapped: int | None = None
        #: Of the output, if that is sound.
        self.channels = 1

    def of(self, kind: str) -> list[Stream]:
        """The tracks of a kind."""
        return [one for one in self.streams if one.kind == kind]

    def read(self, line: str) -> None:
        """Take a line of the description."""
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
    """FFmpeg while it runs; what it says is read along.

    Args:
        arguments: Those after the general ones.
        says: What to write to its standard input.
        takes_input: Whether its standard input is that of this process.
        limit: Bytes that it may allocate; None for any number.
        folder: Where it runs.
    """

    def __init__(
        self, arguments: Sequence[str], says: bytes | None = None, *, takes_input: bool = False,
        limit: int | None = MEMORY_LIMIT, folder: str | None = None,
    ) -> None:  # fmt: skip
        self.process = subprocess.Popen(
            [
                program(), "-hide_banner", "-nostdin", "-nostats", "-loglevel", "repeat+level+info",
                "-max_alloc", str(_MAX_BLOCK), *arguments,
            ],
            stdin=None if takes_input else subprocess.DEVNULL if says is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            start_new_session=True,  # Ctrl-C is for this process, which then ends that one
        )  # fmt: skip
        if limit is not None and hasattr(resource, "prlimit"):
            with suppress(OSError):
                resource.prlimit(self.process.pid, resource.RLIMIT_DATA, (limit, limit))
        if says is not None and self.process.stdin is not None:
            with suppress(OSError), self.process.stdin as stdin:
                stdin.write(says)
        #: Complete as soon as there is output.
        self.header = Header()
        #: Packets that were unusable so far.
        self.damaged = 0
        #: Whether the recording breaks off.
        self.is_cut = False
        #: Its last warnings and errors.
        self.remarks: list[str] = []
        self._is_told = threading.Event()
        self._reader = threading.Thread(target=self._read, name="ffmpeg", daemon=True)
        self._reader.start()

    def wait_for_header(self) -> None:
        """Wait until it has told which track it takes, or has ended."""
        self._is_told.wait(_TIMEOUT_S)

    def output(self, seconds: float) -> bytes:
        """All that it writes until its end, which comes after so many seconds at the latest."""
        late = threading.Timer(seconds, self.process.kill)
        late.start()
        with self.process.stdout as stdout:  # type: ignore[union-attr] # it is there
            made = stdout.read()
        self.wait()
        late.cancel()
        return made

    def wait(self) -> int:
        """Wait for its end, and for all that it says; returns its status."""
        status = self.process.wait()
        self._reader.join(_TIMEOUT_S)
        return status

    def end(self) -> None:
        """End it; may be called more than once."""
        end(self.process)

    def reason(self) -> Refusal:
        """Why it ended without a result."""
        last = self.remarks[-1].rpartition(": ")[2] if self.remarks else ""
        if last.startswith("Invalid data found"):
            return Refusal(
                "it is no sound or video that FFmpeg knows, or its beginning or its index is cut off",
                "copy or export it again",
            )
        if not last:
            return Refusal("FFmpeg failed on it", "convert it to WAV or FLAC")
        return Refusal(f"the system says: {last}", "check it, and give a recording")

    def _read(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as stderr:
            for line in stderr:
                if found := _REMARK.match(line.decode(errors="replace")):
                    self._take(*found.groups())
        self._is_told.set()

    def _take(self, level: str, text: str) -> None:
        if level == "info":
            if found := _MAPPED.match(text):
                self.header.mapped = int(found[1])
            elif self.header.mapped is None:
                self.header.read(text)
            elif not self._is_told.is_set() and (found := _MADE.match(text)):
                self.header.channels = 1 + (found[1] == "stereo")
                self._is_told.set()
        if level in ("warning", "error", "fatal"):
            self.remarks = [*self.remarks[1 - _LAST_REMARKS :], text]
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
    """The path of the program, which is there."""
    if (found := shutil.which("ffmpeg")) is not None:
        return found
    import imageio_ffmpeg

    own: str = imageio_ffmpeg.get_ffmpeg_exe()
    return own


def is_there() -> bool:
    """Whether there is such a program."""
    return shutil.which("ffmpeg") is not None or not missing(EXTRAS["media"])


def require(what: str) -> None:
    """Raise a `UsageError` that says what needs the program, if there is none."""
    if not is_there():
        require_extra(EXTRAS["media"], what)


def probe(recording: Path) -> Header:
    """The header of a file. Raises `Refusal` if it cannot be read."""
    # It complains that it has nothing to write.
    ffmpeg = Ffmpeg(opening(f"file:{recording.absolute()}"))
    ffmpeg.output(2 * _TIMEOUT_S)
    if not ffmpeg.header.format:
        raise ffmpeg.reason()
    return ffmpeg.header


def opening(opens: str, *, again: bool = False) -> list[str]:
    """The arguments that open what may be read; of a broadcast that was heard before, from further back."""
    scheme = opens.partition(":")[0].lower()
    if scheme.startswith("rtmp"):
        # The address is in a list that it gets by its standard input.
        reached = "rtmp,rtmpt,rtmps,rtmpts,tcp,tls,http,https,pipe"
        return ["-protocol_whitelist", reached, "-f", "concat", "-safe", "0", "-i", "pipe:0"]
    if scheme not in ("http", "https"):
        # A playlist must not make this read other files, or a file reach into the network.
        return ["-protocol_whitelist", scheme, "-max_streams", "100", "-i", opens]
    options = {
        "protocol_whitelist": "http,https,tls,tcp,crypto", "rw_timeout": str(_TIMEOUT_S * 1_000_000),
        "reconnect": "1", "reconnect_delay_max": "10", "max_streams": "100",
    }  # fmt: skip
    if "m3u8" in urlsplit(opens).path.lower():
        # Of a list of segments that no longer changes.
        options["m3u8_hold_counters"] = "10"
        # Three segments before the last one, as players begin; what was heard already is left out.
        options["live_start_index"] = "-20" if again else "-3"
    return [*(word for name, value in options.items() for word in (f"-{name}", value)), "-i", _led(opens)]


def listed(address: str) -> bytes | None:
    """What it must read from its standard input for an address; None for all others."""
    if not is_address(address) or not address.lower().startswith("rtmp"):
        return None
    quoted = address.replace("'", r"'\''")
    return f"ffconcat version 1.0\nfile '{quoted}'\n".encode()


def _led(address: str) -> str:
    """An address of this process that leads to another one, once.

    Arguments are shown to everybody on a machine, and an address may hold a password.
    """
    server = socket.create_server(("127.0.0.1", 0))
    server.settimeout(_TIMEOUT_S)
    key = secrets.token_urlsafe()
    where = f"http://127.0.0.1:{server.getsockname()[1]}/{key}/{PurePosixPath(urlsplit(address).path).name}"

    answer = f"HTTP/1.1 302 Found\r\nLocation: {address}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

    def lead() -> None:
        with server, suppress(OSError):
            is_led = False
            while not is_led:
                connection, _ = server.accept()
                with connection:
                    connection.settimeout(1.0)
                    if is_led := key.encode() in connection.recv(2**14):
                        connection.sendall(answer.encode())

    threading.Thread(target=lead, name="address", daemon=True).start()
    return where
