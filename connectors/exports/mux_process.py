"""The child process of `connectors.exports.mux`: copies a recording, and adds subtitles (PyAV).

Called with a `Job` as JSON. It writes the file, and lines of JSON to standard output: `At` as it goes, at the
end `Muxed` or `Refused`.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import msgspec

from connectors.audio.media_process import MEMORY_LIMIT, Refusal, Refused, limit_memory, open_container, tell
from connectors.exports.burning import Burner, Cue
from connectors.exports.lettering import font_for

# A file that has so many bad packets is another kind of file.
_MAX_ERRORS = 1000
_MILLISECONDS = Fraction(1, 1000)
# An encoder keeps pictures to compare with: of 4K about 1.5 GB.
_BURN_LIMIT = 3 * MEMORY_LIMIT


class Track(msgspec.Struct, frozen=True, kw_only=True):
    """A track of subtitles."""

    #: Path of a SubRip file.
    subtitles: str
    #: ISO 639-2 code.
    language: str
    #: Name in a player's menu.
    title: str
    #: Code of the language as it is in `operators.languages`.
    code: str


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """What to do."""

    recording: str
    into: str
    #: FFmpeg's name of the container: ``mp4`` or ``matroska``.
    container: str
    tracks: tuple[Track, ...]
    #: The one that is drawn into the pictures, instead of tracks.
    burnt: Track | None = None


class At(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """How far it is."""

    #: From 0 to 1.
    fraction: float


class Muxed(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """It is done."""

    #: Codecs of subtitles and names of attachments that the container does not take.
    left_out: tuple[str, ...]
    #: Packets that were unusable.
    damaged: int


def main() -> None:
    """Do the job that the argument is."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    job = msgspec.json.decode(sys.argv[1], type=Job)
    limit = MEMORY_LIMIT if job.burnt is None else _BURN_LIMIT
    limit_memory(limit)
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        tell(out, _mux(job, lambda fraction: tell(out, At(fraction=fraction))))
    except Refusal as refusal:
        tell(out, refusal.told)
    except MemoryError:
        why = f"it takes more than {limit >> 20} MB of memory"
        tell(out, Refused(why=why, remedy="export it again"))
    except OSError as error:  # FFmpeg's errors are OSErrors, too
        tell(out, Refused(why=f"the system says: {error.strerror or error}", remedy="check the disk"))


def _mux(job: Job, progress: Callable[[float], None]) -> Muxed:
    import av

    recording = open_container(job.recording)
    with av.open(job.into, "w", format=job.container) as made:
        begin = Fraction(recording.start_time or 0, 1_000_000)
        copier = _Copier(recording, made, job.burnt, begin)
        made.metadata.update(recording.metadata)
        made.set_chapters(recording.chapters())
        cues = [_cues(made, job.container, track, begin) for track in job.tracks]
        waiting = [next(one, None) for one in cues]
        told, length = 0, Fraction(recording.duration or 0, 1_000_000)
        for packet in copier.packets():
            at = _time(packet)
            # In the order of time, so that no track waits for another.
            for number, own in enumerate(cues):
                while (cue := waiting[number]) is not None and _time(cue) <= at:
                    made.mux_one(cue)
                    waiting[number] = next(own, None)
            copier.copy(packet)
            if length and (percent := int(100 * (at - begin) / length)) > told:
                told = percent
                progress(min(1.0, told / 100))
        copier.end()
        for cue, own in zip(waiting, cues, strict=True):
            for late in (cue, *own):
                if late is not None:
                    made.mux_one(late)
    return Muxed(left_out=copier.left_out, damaged=copier.damaged)


class _Copier:
    """Copies the tracks of a recording that a container takes, and encodes pictures that get subtitles."""

    def __init__(self, recording: Any, made: Any, burnt: Track | None, begin: Fraction) -> None:
        self._recording, self._made = recording, made
        self._bad = 0
        self._burner: Burner | None = None
        left_out = []
        self._tracks: dict[int, Any] = {}
        is_matroska = "matroska" in made.format.name
        for stream in recording.streams:
            if is_matroska and (attached := _attachment(recording.name, stream)) is not None:
                made.add_attachment(*attached)
                continue
            if stream.type == "attachment":
                left_out.append(stream.name or "an attachment")
            if stream.type not in ("video", "audio", "subtitle"):
                continue
            if burnt is not None and self._burner is None and _has_pictures(stream):
                cues = [*_texts(burnt.subtitles, begin)]
                font = font_for("".join(line for cue in cues for line in cue.lines), burnt.code)
                self._burner = Burner(stream, made, cues, font, _first_frame(recording.name, stream.index))
                self._tracks[stream.index] = self._burner.track
                _describe(self._burner.track, stream)
                continue
            name = getattr(stream.codec_context, "name", "unknown")
            if not _is_taken(made, stream, name):
                if stream.type != "subtitle":
                    remedy = "convert it first" if is_matroska else "write an .mkv file"
                    raise Refusal(f"{stream.type} of {name} does not fit into it", remedy)
                left_out.append(name)
                continue
            self._tracks[stream.index] = track = made.add_stream_from_template(stream)
            _describe(track, stream)
        self.left_out = tuple(left_out)
        if not self._tracks:
            raise Refusal("it has neither sound nor pictures", "give a recording")
        if burnt is not None and self._burner is None:
            raise Refusal("it has no pictures", "leave out --burn")

    @property
    def damaged(self) -> int:
        """Packets that were unusable."""
        return self._bad + (self._burner.damaged if self._burner else 0)

    def packets(self) -> Iterator[Any]:
        """Those to copy."""
        from av.error import FFmpegError

        while self._bad < _MAX_ERRORS:
            try:
                for packet in self._recording.demux():
                    if packet.stream.index in self._tracks and packet.size:
                        if _is_cover(packet.stream):
                            packet.dts = 0
                        packet.dts = packet.pts if packet.dts is None else packet.dts
                        if packet.dts is not None:
                            yield packet
            except EOFError:
                return
            except FFmpegError:
                self._bad += 1
            else:
                return

    def copy(self, packet: Any) -> None:
        """Write a packet; one with impossible times is left out."""
        from av.error import ArgumentError

        track = self._tracks[packet.stream.index]
        if self._burner is not None and track is self._burner.track:
            for one in self._burner.packets(packet):
                self._made.mux_one(one)
            return
        packet.stream = track
        try:
            self._made.mux_one(packet)
        except ArgumentError:
            self._bad += 1

    def end(self) -> None:
        """Write the pictures that the encoder still has."""
        if self._burner is not None:
            for one in self._burner.packets(None):
                self._made.mux_one(one)


def _describe(track: Any, given: Any) -> None:
    """Give a track what a player's menu shows of another: its language, its name and its flags."""
    track.metadata.update(given.metadata)
    # FFmpeg calls the name of a track so when it reads MP4, and a title when it writes it.
    if (name := given.metadata.get("name")) is not None:
        track.metadata.setdefault("title", name)
    track.disposition = given.disposition


def _has_pictures(stream: Any) -> bool:
    return stream.type == "video" and not _is_cover(stream)


def _is_cover(stream: Any) -> bool:
    from av.stream import Disposition

    return bool(stream.disposition & Disposition.attached_pic)


def _attachment(opens: str, stream: Any) -> tuple[str, str, bytes] | None:
    """The name, the type and the content of what Matroska has as an attachment, not as a track."""
    if stream.type == "attachment":
        return stream.name or "attachment", stream.mimetype or "application/octet-stream", stream.data
    if not _is_cover(stream):
        return None
    kind = {"mjpeg": "jpeg"}.get(stream.codec_context.name, stream.codec_context.name)
    with open_container(opens) as recording:
        picture = next(recording.demux(recording.streams[stream.index]))
    return f"cover.{kind}", f"image/{kind}", bytes(picture)


def _first_frame(opens: str, track: int) -> Any:
    with open_container(opens) as recording:
        for frame in recording.decode(recording.streams[track]):
            return frame
    raise Refusal("it has no pictures", "leave out --burn")


def _is_taken(made: Any, stream: Any, name: str) -> bool:
    if stream.type == "subtitle" and "matroska" not in made.format.name:
        return name == "mov_text"
    codec = getattr(stream.codec_context, "codec", None)
    return codec is not None and codec.canonical_name in made.supported_codecs


def _cues(made: Any, container: str, track: Track, begin: Fraction) -> Iterator[Any]:
    """The packets of a track; it is added at once, before any packet is written."""
    is_matroska = container == "matroska"
    stream = made.add_mux_stream("subrip" if is_matroska else "mov_text", time_base=_MILLISECONDS)
    stream.metadata.update({"language": track.language, "title": track.title})
    return _packets(stream, track.subtitles, begin, has_size=not is_matroska)


def _packets(stream: Any, path: str, begin: Fraction, *, has_size: bool) -> Iterator[Any]:
    import av

    for cue in _read(path):
        text = bytes(cue)
        # A sample of mov_text (3GPP TS 26.245) is its size in 16 bits and the text.
        packet = av.Packet(len(text).to_bytes(2, "big") + text if has_size else text)
        packet.pts = packet.dts = round((cue.pts * cue.time_base + begin) / _MILLISECONDS)
        packet.duration, packet.time_base = cue.duration, _MILLISECONDS
        packet.stream = stream
        yield packet


def _texts(path: str, begin: Fraction) -> Iterator[Cue]:
    for cue in _read(path):
        start = cue.pts * cue.time_base + begin
        lines = tuple(line for line in bytes(cue).decode().splitlines() if line.strip())
        if lines:
            yield Cue(float(start), float(start + cue.duration * cue.time_base), lines)


def _read(path: str) -> Iterator[Any]:
    """The cues of a SubRip file."""
    import av

    with av.open(f"file:{path}", format="srt", options={"protocol_whitelist": "file"}) as subtitles:
        for cue in subtitles.demux():
            if cue.size:
                yield cue


def _time(packet: Any) -> Fraction:
    return Fraction(packet.dts * packet.time_base)


if __name__ == "__main__":
    main()
