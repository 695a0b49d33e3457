"""The child process of `connectors.audio.media`: decodes a recording with FFmpeg's libraries (PyAV).

Called with the position to begin at in 16 kHz samples, the track that is asked for and the language that is
spoken (either may be empty), and for a broadcast that was heard before the time up to which it was, in
seconds by its own clock; what to open is in the environment (`OPENS`). It writes to standard output a line
of JSON (`Opened` or `Refused`), then blocks of samples, each after its size in bytes (32 bits, little-
endian), then an empty block and a line of JSON (`Ended`). Where packets were damaged, `DAMAGED` takes the
place of a size, and the number of them so far follows. The memory it may take is limited.
"""

import os
import resource
import signal
import struct
import sys
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import chain
from typing import Any, BinaryIO, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from operators.events import SAMPLE_RATE
from operators.languages import is_language, language
from operators.sound import mono

#: The variable that names what to open. Arguments are shown to everybody on the machine.
OPENS = "SURTITLE_OPENS"
#: Bytes that a decoder may allocate. The index of a day of sound takes a tenth of it.
MEMORY_LIMIT = 2**30
#: Stands for a size, before the number of damaged packets (32 bits).
DAMAGED = 0xFFFF_FFFF
_BLOCK = SAMPLE_RATE // 2
_MAX_WRITTEN = 2**16
_RATES = range(1_000, 768_001)
# The first packets decide whether it can be decoded at all.
_TRIED = 20
_MAX_UNDECODED = 1000
# A demuxer that finds no packet after so many errors will find none.
_MAX_ERRORS = 100
#: Timestamps that jump further, where the length is unknown, are those of another recording.
MAX_GAP_S = 60.0
_MIN_GAP_S = 0.1
# What a broadcast may offer again of what was heard.
_MAX_HEARD_S = 600.0
# Containers whose header has the length; that of others is estimated.
_WITH_LENGTH = ("mov", "matroska")
_MIN_MISSING_S = 1.0
# Seconds without data from an address.
_TIMEOUT_S = 30.0


class Opened(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """It can be decoded."""

    #: Absent if unknown.
    duration_s: float | None
    rate: int
    channels: int
    #: When it begins by its own clock, in seconds, if it is a broadcast that has one.
    begin_s: float | None = None
    #: Which of several tracks it is, for a sentence.
    track: str = ""


class Refused(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """It cannot be decoded."""

    #: The reason, and what to do: parts of a sentence.
    why: str
    remedy: str


class Ended(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """It was decoded to its end."""

    missing_s: float
    #: Packets that could not be decoded.
    damaged: int


class Wanted(NamedTuple):
    """Which track of sound is wanted."""

    #: Its number, from 1, or the code of its language; empty for the one in the spoken language.
    track: str = ""
    #: The code of the spoken language; empty if it is not known.
    spoken: str = ""


#: The default one.
ANY = Wanted()


class Refusal(Exception):  # noqa: N818 - an answer
    """Why something cannot be decoded; ``told`` is the answer."""

    def __init__(self, why: str, remedy: str) -> None:
        super().__init__(why)
        self.told = Refused(why=why, remedy=remedy)


def main() -> None:
    """Decode what the arguments name, until the end or until nobody reads."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    limit_memory()
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # a library's remark is not a sample
    position, *wanted = sys.argv[1:4]
    try:
        heard_s = float(sys.argv[4]) if sys.argv[4:] else None
        _decode(os.environ[OPENS], 2 * int(position), Wanted(*wanted), heard_s, out)
    except BrokenPipeError:
        os._exit(1)


def limit_memory(limit: int = MEMORY_LIMIT) -> None:
    """Bound the bytes that this process may allocate."""
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))


def _decode(opens: str, skip: int, wanted: Wanted, heard_s: float | None, out: BinaryIO) -> None:
    try:
        media = _Media(opens, wanted, heard_s)
    except Refusal as refusal:
        tell(out, refusal.told)
        return
    except MemoryError:
        tell(
            out,
            Refused(why=f"it takes more than {MEMORY_LIMIT >> 20} MB of memory", remedy="export it again"),
        )
        return
    tell(out, media.opened)
    damaged = 0
    for pcm in media.blocks():
        for at in range(skip, len(pcm), _MAX_WRITTEN):
            part = pcm[at : at + _MAX_WRITTEN]
            out.write(struct.pack("<I", len(part)) + part)
        skip = max(0, skip - len(pcm))
        if media.damaged != damaged:
            damaged = media.damaged
            out.write(struct.pack("<II", DAMAGED, damaged))
        out.flush()
    out.write(struct.pack("<I", 0))
    tell(out, Ended(missing_s=media.missing_s, damaged=media.damaged))


def tell(out: BinaryIO, what: msgspec.Struct) -> None:
    """Write an answer as a line."""
    out.write(msgspec.json.encode(what) + b"\n")
    out.flush()


class _Media:
    """A track of sound of a container."""

    def __init__(self, opens: str, wanted: Wanted, heard_s: float | None = None) -> None:
        self._container = open_container(opens, again=heard_s is not None)
        stream = _track(self._container.streams, wanted)
        if stream.codec_context is None:
            raise Refusal("the codec of its audio track is not known", "convert it to WAV or FLAC")
        self._stream = stream
        self.damaged = 0
        self._tried = 0
        self._seen_s = 0.0
        self._duration_s = self._length()
        frames = self._frames()
        head = []
        for frame in frames:
            head.append(frame)
            if self._tried >= _TRIED:
                break
        if not head or 4 * self.damaged > 3 * self._tried:
            raise Refusal(
                f"its audio track ({stream.codec_context.name}) has no packets that can be decoded: it is "
                "encrypted, damaged or empty",
                "export it again without copy protection",
            )
        first = head[0]
        if first.sample_rate not in _RATES:
            raise Refusal(f"its header claims {first.sample_rate} samples a second", "export it again")
        self._rest: Iterator[Any] = chain(head, frames)
        self._begin_s = (self._container.start_time or 0) / 1e6
        has_clock = self._duration_s is None and self._container.format.name == "hls"
        if has_clock and heard_s is not None and -_MAX_HEARD_S < self._begin_s - heard_s < MAX_GAP_S:
            self._begin_s = max(self._begin_s, heard_s)
            self._rest = (one for one in self._rest if one.pts is None or one.pts * one.time_base >= heard_s)
        self.opened = Opened(
            duration_s=self._duration_s,
            rate=first.sample_rate,
            channels=len(first.layout.channels),
            begin_s=self._begin_s if has_clock else None,
            track=_told(self._container.streams.audio, stream),
        )

    @property
    def missing_s(self) -> float:
        """Seconds that the header promised beyond the last packet of any track."""
        if self._duration_s is None or not any(one in self._container.format.name for one in _WITH_LENGTH):
            return 0.0
        missing_s = self._duration_s - self._seen_s
        return missing_s if missing_s >= _MIN_MISSING_S else 0.0

    def blocks(self) -> Iterator[bytes]:
        """int16 samples, 16 kHz mono; silence where the timestamps leave a gap."""
        from av.audio.resampler import AudioResampler

        begin_s = self._begin_s
        made_for, resampler = None, AudioResampler("fltp", "mono", SAMPLE_RATE)
        pending = _Pending()
        for frame in self._rest:
            kind = (frame.format.name, frame.layout.name, frame.sample_rate)
            if kind != made_for:
                if made_for is not None:
                    pending.add(resampler.resample(None))
                yield pending.take()
                resampler = AudioResampler("fltp", frame.layout, SAMPLE_RATE)
                made_for = kind
            if frame.pts is not None and frame.time_base is not None:
                ahead_s = float(frame.pts * frame.time_base) - begin_s - pending.position / SAMPLE_RATE
                if self._is_gap(ahead_s):
                    yield pending.take()
                    yield from pending.silence(round(ahead_s * SAMPLE_RATE))
                elif abs(ahead_s) > 1:
                    begin_s += ahead_s  # from here on, the clock is another one
            pending.add(resampler.resample(frame))
            if pending.count >= _BLOCK:
                yield pending.take()
        if made_for is not None:
            pending.add(resampler.resample(None))
        yield pending.take()

    def _is_gap(self, ahead_s: float) -> bool:
        limit_s = MAX_GAP_S if self._duration_s is None else self._duration_s
        return _MIN_GAP_S < ahead_s <= limit_s

    def _length(self) -> float | None:
        if self._container.duration is not None and self._container.duration > 0:
            return float(self._container.duration / 1e6)
        if self._stream.duration is not None and self._stream.time_base is not None:
            return float(self._stream.duration * self._stream.time_base) or None
        return None

    def _frames(self) -> Iterator[Any]:
        from av.error import FFmpegError

        good = False
        for packet in self._packets():
            if packet.stream.index != self._stream.index:
                continue
            self._tried += packet.size > 0
            try:
                frames = packet.decode()
            except MemoryError:
                raise
            except EOFError:
                continue
            except FFmpegError:
                self.damaged += 1
                if not good and self._tried >= _MAX_UNDECODED:
                    return
                continue
            good = good or bool(frames)
            yield from frames

    def _packets(self) -> Iterator[Any]:
        from av.error import FFmpegError

        errors = 0
        while errors < _MAX_ERRORS:
            try:
                for packet in self._container.demux():
                    errors = 0
                    self._note(packet)
                    yield packet
            except MemoryError:
                raise
            except EOFError:
                return
            except FFmpegError:
                errors += 1
                self.damaged += errors == 1
            else:
                return

    def _note(self, packet: Any) -> None:
        at = packet.pts if packet.pts is not None else packet.dts
        if at is not None and packet.time_base is not None:
            end = (at + (packet.duration or 0)) * packet.time_base
            self._seen_s = max(
                self._seen_s, float(end - Fraction(self._container.start_time or 0, 1_000_000))
            )


def _track(streams: Any, wanted: Wanted) -> Any:
    """The track of sound that is asked for, or the one in the spoken language, or the default one."""
    from av.stream import Disposition

    best, tracks = streams.best("audio"), streams.audio
    if best is None:
        raise Refusal("it has no audio track", "give a recording with sound")
    code = wanted.track or wanted.spoken
    fitting = [one for one in tracks if code and _code(one) == code]
    if wanted.track.isdecimal():
        fitting = [*tracks][int(wanted.track) - 1 : int(wanted.track)]
    if wanted.track and not fitting:
        asked = wanted.track if wanted.track.isdecimal() else f"in {language(wanted.track).name}"
        raise Refusal(f"it has no audio track {asked} ({_listed(tracks)})", "choose another input.track")
    # The first of the best: a description for the blind may be in the same language.
    return max(fitting, key=lambda one: Disposition.default in one.disposition, default=best)


def _code(stream: Any) -> str:
    """The code of a track's language; empty if it is not known."""
    tag = stream.metadata.get("language", "")
    return language(tag).base if is_language(tag) else ""


def _listed(tracks: Sequence[Any]) -> str:
    return ", ".join(f"{number} {_name(one)}" for number, one in enumerate(tracks, 1))


def _name(track: Any) -> str:
    return language(code).name if (code := _code(track)) else "in a language that is not named"


def _told(tracks: Sequence[Any], chosen: Any) -> str:
    if len(tracks) == 1:
        return ""
    number = 1 + [one.index for one in tracks].index(chosen.index)
    return f"audio track {number} of {len(tracks)} ({_listed(tracks)})"


class _Pending:
    """Resampled frames that wait to become a block."""

    def __init__(self) -> None:
        #: Samples that wait, and all that there were.
        self.count = self.position = 0
        self._frames: list[NDArray[np.float32]] = []

    def add(self, frames: list[Any]) -> None:
        """Add resampled frames."""
        for frame in frames:
            self._frames.append(frame.to_ndarray().T)
            self.count += frame.samples
            self.position += frame.samples

    def take(self) -> bytes:
        """All of them, with their channels mixed."""
        if not self._frames:
            return b""
        samples = mono(np.concatenate(self._frames))
        self.count, self._frames = 0, []
        pcm: bytes = np.clip(np.rint(np.nan_to_num(samples) * 32768.0), -32768, 32767).astype("<i2").tobytes()
        return pcm

    def silence(self, samples: int) -> Iterator[bytes]:
        """Blocks of silence, where nothing waits."""
        self.position += samples
        for at in range(0, samples, _BLOCK):
            yield bytes(2 * min(samples - at, _BLOCK))


def open_container(opens: str, *, again: bool = False) -> Any:
    """Open what may be read; of a broadcast that was heard before, ``again``, from further back.

    Raises:
        Refusal: when it cannot be read.
    """
    import av
    from av.error import FFmpegError

    av.logging.set_level(None)
    scheme = opens.partition(":")[0].lower()
    # A playlist must not make this read other files, or a file reach into the network.
    options = {"protocol_whitelist": scheme, "max_streams": "100"}
    timeout = None
    if scheme.startswith("rtmp"):
        options["protocol_whitelist"] = "rtmp,rtmpt,rtmps,rtmpts,tcp,tls,http,https"
        timeout = (_TIMEOUT_S, _TIMEOUT_S)
    elif scheme in ("http", "https"):
        options |= {
            "protocol_whitelist": "http,https,tls,tcp,crypto",
            "reconnect": "1",
            "reconnect_delay_max": "10",
            # Of a list of segments that no longer changes.
            "m3u8_hold_counters": "10",
            # Three segments before the last one, as players begin; what was heard already is left out.
            "live_start_index": "-20" if again else "-3",
        }
        timeout = (_TIMEOUT_S, _TIMEOUT_S)
    elif scheme == "fd":
        options["fd"] = "0"
    try:
        return av.open(opens, options=options, timeout=timeout)
    except MemoryError:
        raise
    except av.error.ExitError:
        raise Refusal(
            f"nothing came within {_TIMEOUT_S:.0f} s", "check the address and the network"
        ) from None
    except av.error.InvalidDataError:
        raise Refusal(
            "it is no sound or video that FFmpeg's libraries know, or its beginning or its index is cut off",
            "copy or export it again",
        ) from None
    except FFmpegError as error:
        raise Refusal(
            f"the system says: {error.strerror or error}", "check it, and give a recording"
        ) from None


if __name__ == "__main__":
    main()
