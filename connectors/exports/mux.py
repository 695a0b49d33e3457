"""Copies a recording with subtitles, as tracks or burnt into the pictures; writes its chapters as WebVTT."""

import os
import re
import shutil
import subprocess
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event as Flag
from typing import NamedTuple

from connectors.audio import ffmpeg
from connectors.audio.ffmpeg import MEMORY_LIMIT, Ffmpeg, Header, MediaError, Stream
from connectors.audio.pipe import PipeReader
from connectors.files.atomic import replace, write_atomically
from connectors.files.output import WriteError, unfinished
from connectors.sinks.subtitles import VTT_HEADER, vtt
from operators.errors import InputError, OutputError, UsageError
from operators.languages import Language
from operators.notifications import Progress, silent
from operators.subtitles.timing import Cue
from operators.text import cleaned

#: FFmpeg's names of the containers that take subtitles, by suffix.
CONTAINERS = {".mp4": "mp4", ".m4v": "mp4", ".mkv": "matroska"}
_SUFFIXES = ".mp4, .m4v or .mkv"
# Suffixes of recordings that usually fit into MP4.
_LIKE_MP4 = (".mp4", ".m4v", ".m4a", ".mov")
_TEXTS = {"mp4": "mov_text", "matroska": "subrip"}
_WAIT_S = 0.1
_READ_S = 60.0
# Hardly worse than the original; encodes a lecture in real time on two processors.
_ENCODED = {
    "c": "libx264", "preset": "veryfast", "crf": "20", "pix_fmt": "yuv420p", "fps_mode": "passthrough",
    "enc_time_base": "1/90000",
}  # fmt: skip
# A dark box, because slides are often white. Sizes are for 288 lines. Encoding -1: text in either direction.
_STYLE = (
    "FontName={},FontSize=16,BorderStyle=4,Outline=0.8,Shadow=0,BackColour=&H60000000,MarginV=13,Encoding=-1"
)
# A value in FFmpeg's metadata goes to the end of its line, unless a backslash escapes the newline.
_VALUE = re.compile(r"^(\w+)=((?:\\.|[^\\\n])*)", re.DOTALL | re.MULTILINE)
_NO_PLACE = re.compile(r"Could not find tag for codec (\w+)")
_NO_GLYPH = "failed to find any fallback with glyph 0x"


class Subtitles(NamedTuple):
    """A SubRip file and its language."""

    path: Path
    language: Language


class MuxReport(NamedTuple):
    """Parts of a recording that its copy lacks."""

    #: Codecs of subtitles and names of attachments that the container does not take.
    left_out: tuple[str, ...]
    #: Packets that were unusable.
    damaged: int


def container_of(path: Path) -> str:
    """FFmpeg's name of the container for a file. Raises `UsageError` if it takes no subtitles."""
    if (container := CONTAINERS.get(path.suffix.lower())) is None:
        raise UsageError(f"{path}: files with this suffix cannot contain subtitles; name it {_SUFFIXES}")
    return container


def suffix_for(recording: Path) -> str:
    """The suffix of a copy of a recording that takes subtitles."""
    suffix = recording.suffix.lower()
    return suffix if suffix in CONTAINERS else ".mp4" if suffix in _LIKE_MP4 else ".mkv"


def font_for(one: Language) -> str:
    """The name of an installed font with a language's letters. Raises `UsageError` if there is none."""
    if sys.platform in ("win32", "darwin"):
        return "Arial"  # libass asks the system for letters that it lacks
    letters = {ord(letter) for letter in one.own or one.name if unicodedata.category(letter)[0] in "LM"}
    pattern = f"sans-serif:lang={one.code}:charset={' '.join(f'{letter:x}' for letter in letters)}"
    try:
        family, covered = subprocess.run(
            ["fc-match", "-f", "%{family[0]}\n%{charset}", pattern],
            capture_output=True, text=True, check=True,
        ).stdout.split("\n")  # fmt: skip
    except (OSError, subprocess.CalledProcessError, ValueError):
        raise UsageError(
            f"{one.name} cannot be burnt into a video, because there are no fonts to draw with; "
            "install the packages fontconfig and fonts-noto"
        ) from None
    spans = [span.partition("-") for span in covered.split()]
    known = [range(int(first, 16), int(last or first, 16) + 1) for first, _, last in spans]
    if lacks := [chr(letter) for letter in letters if not any(letter in span for span in known)]:
        raise UsageError(
            f"{one.name} cannot be burnt into a video, because no font here has {' '.join(lacks[:8])}; "
            "install one that has, such as fonts-noto or fonts-noto-cjk"
        )
    return family


def mux(
    recording: Path,
    into: Path,
    tracks: Sequence[Subtitles] = (),
    burnt: Subtitles | None = None,
    *,
    stop: Flag | None = None,
    progress: Progress = silent,
) -> MuxReport | None:
    """Copy a recording with subtitles into another file, which appears only when it is complete.

    Its other tracks, chapters and metadata are copied as they are. Only for burnt subtitles, the pictures are
    decoded and encoded again as H.264.

    Args:
        tracks: Subtitles that a player turns on and off.
        burnt: Subtitles that are in the pictures.
        stop: When set, nothing is written.

    Returns:
        What could not be copied; None if it was stopped.

    Raises:
        UsageError: for a container that takes no subtitles, or when FFmpeg is missing.
        InputError: when the recording cannot be read, or no font has the letters of burnt subtitles.
        OutputError: when the file cannot be written.
    """
    ffmpeg.require(str(into))
    container = container_of(into)
    unready = unfinished(Path(os.path.realpath(into)))
    try:
        try:
            unready.touch()
        except OSError as error:
            raise WriteError(into, error) from None
        with TemporaryDirectory(prefix="surtitle-") as folder:
            header = ffmpeg.probe(recording)
            arguments = _arguments(recording, header, container, tracks, burnt, Path(folder))
            command = Ffmpeg(
                [*arguments, "-progress", "pipe:1", "-f", container, "-y", f"file:{unready}"],
                limit=MEMORY_LIMIT if burnt is None else None, folder=folder,
            )  # fmt: skip
            is_whole = _follow(command, stop or Flag(), f"writing {into}", progress, header.duration_s)
        if not is_whole:
            return None
        # A symbolic link is followed, not replaced.
        replace(unready, Path(os.path.realpath(into)))
        return MuxReport(tuple(_left_out(header, container)), command.damaged)
    except MediaError as error:
        raise (OutputError if error.remedy == "check the disk" else InputError)(
            f"{recording}: it cannot be copied into {into}, because {error.why}; {error.remedy}"
        ) from None
    finally:
        unready.unlink(missing_ok=True)


def _arguments(
    recording: Path, header: Header, container: str, tracks: Sequence[Subtitles], burnt: Subtitles | None,
    folder: Path,
) -> list[str]:  # fmt: skip
    if not (header.of("Audio") or header.of("Video")):
        raise MediaError("it has neither sound nor pictures", "give a recording")
    pictures = next((one for one in header.of("Video") if not one.is_cover), None)
    if burnt is not None and pictures is None:
        raise MediaError("it has no pictures", "leave out --burn")
    inputs = ffmpeg.opening(f"file:{recording.absolute()}")
    copied, made = list[Stream](), list[str]()
    covers = [one for one in header.streams if one.is_cover and container == "matroska"]
    for one in header.streams:
        if one in covers or (codec := _codec(one, container)) is None:
            continue
        number = len(copied)
        copied.append(one)
        made += ["-map", f"0:{one.number}", f"-c:{number}", codec]
        if "name" in one.about and "title" not in one.about:
            # FFmpeg reads the name of an MP4 track as "name", but writes it from "title".
            made += [f"-metadata:s:{number}", f"title={one.about['name']}"]
        if burnt is not None and one is pictures:
            made += _burning(burnt, number, folder)
    kinds = [one.kind for one in copied]
    for given, track in enumerate(tracks, 1):
        inputs += ["-protocol_whitelist", "file", "-f", "srt", "-i", f"file:{track.path.absolute()}"]
        number = kinds.count("Subtitle") + given - 1
        made += ["-map", f"{given}:0", f"-c:s:{number}", "copy" if container == "matroska" else "mov_text"]
        made += [f"-metadata:s:s:{number}", f"language={track.language.three}"]
        made += [f"-metadata:s:s:{number}", f"title={track.language.own or track.language.name}"]
        # If flags of any track are given, FFmpeg leaves those of all others as they are.
        made += [f"-disposition:s:{number}", "0"]
    for number, one in enumerate(covers, kinds.count("Attachment")):
        made += _attached(recording, one, number, folder)
    return [*inputs, *made]


def _codec(one: Stream, container: str) -> str | None:
    """The codec of a track's copy; None if the track is left out."""
    if one.kind == "Attachment":
        return "copy" if container == "matroska" else None
    if one.kind != "Subtitle":
        return "copy" if one.kind in ("Audio", "Video") else None
    own = _TEXTS[container]
    if one.codec == own or (container == "matroska" and one.codec != "mov_text"):
        return "copy"
    return own if one.codec in (*_TEXTS.values(), "webvtt", "text") else None


def _left_out(header: Header, container: str) -> Iterator[str]:
    for one in header.streams:
        if one.kind in ("Subtitle", "Attachment") and _codec(one, container) is None:
            yield one.about.get("filename", one.codec)


def _attached(recording: Path, cover: Stream, number: int, folder: Path) -> list[str]:
    """The arguments that attach a cover: Matroska stores it as a file, not as a track."""
    kind = {"mjpeg": "jpeg"}.get(cover.codec, cover.codec)
    file = folder / f"{number}" / f"cover.{kind}"
    file.parent.mkdir()
    opened = ffmpeg.opening(f"file:{recording.absolute()}")
    output = ["-map", f"0:{cover.number}", "-c", "copy", "-f", "image2", "-update", "1", f"file:{file}"]
    Ffmpeg([*opened, *output]).output(_READ_S)
    return ["-attach", str(file), f"-metadata:s:t:{number}", f"mimetype=image/{kind}"]


def _burning(burnt: Subtitles, number: int, folder: Path) -> list[str]:
    # In a filter's arguments, a path would have to be quoted twice.
    shutil.copyfile(burnt.path, folder / "burnt.srt")
    style = _STYLE.format(font_for(burnt.language))
    even = "pad=ceil(iw/2)*2:ceil(ih/2)*2"
    drawn = [f"-filter:{number}", f"{even},subtitles=filename=burnt.srt:force_style='{style}'"]
    return [*drawn, *(word for name, value in _ENCODED.items() for word in (f"-{name}:{number}", value))]


def _follow(command: Ffmpeg, stop: Flag, what: str, progress: Progress, length_s: float | None) -> bool:
    """Wait for the end; returns False if stopped before. Raises `MediaError` if FFmpeg failed."""
    assert command.process.stdout is not None
    output = PipeReader(command.process.stdout)
    try:
        while command.process.poll() is None:
            if stop.wait(_WAIT_S):
                return False
            printed = b"".join(iter(lambda: output.read(2**15, 0) or b"", b""))
            times = re.findall(rb"out_time_us=(\d+)", printed)
            if times and length_s:
                progress(what, min(1.0, int(times[-1]) / 1e6 / length_s))
            _check(command)
        status = command.wait()
        _check(command)
        if status:
            raise command.reason()
    finally:
        command.end()
        output.close()
    return True


def _check(command: Ffmpeg) -> None:
    """Raise a `MediaError` for a remark after which the file would be bad or missing."""
    for remark in command.remarks:
        if _NO_GLYPH in remark:
            letter = chr(int(remark.split(_NO_GLYPH)[1].split()[0], 16))
            raise MediaError(f"no font here has {letter}", "install one that has, such as fonts-noto-cjk")
        if found := _NO_PLACE.match(remark):
            raise MediaError(f"{found[1]} does not fit into it", "write an .mkv file, or convert it first")
        if remark.startswith(("No such filter", "Unknown encoder")):
            raise MediaError(
                f"the system's FFmpeg lacks a part ({remark})", "install one with libass and x264"
            )
        if "No space left" in remark:
            raise MediaError("the system says: No space left on device", "check the disk")


def write_chapters(recording: Path, into: Path) -> bool:
    """Write chapters as cues for ``<track kind="chapters">``; returns whether the recording has any.

    Raises:
        OutputError: when the file cannot be written.
    """
    if not ffmpeg.is_there():
        return False
    arguments = [*ffmpeg.opening(f"file:{recording.absolute()}"), "-f", "ffmetadata", "-"]
    metadata = ffmpeg.Ffmpeg(arguments).output(_READ_S).decode(errors="replace")
    cues = []
    for number, chapter in enumerate(metadata.split("\n[CHAPTER]\n")[1:], 1):
        about = {name.lower(): re.sub(r"\\(.)", r"\1", value) for name, value in _VALUE.findall(chapter)}
        base = Fraction(about["timebase"]) * 1000
        start_ms, end_ms = (round(int(about[name]) * base) for name in ("start", "end"))
        if end_ms > start_ms >= 0:
            cues.append(vtt(Cue(start_ms, end_ms, (cleaned(about.get("title", "")).strip() or str(number),))))
    if cues:
        write_atomically(into, (VTT_HEADER + "".join(cues)).encode())
    return bool(cues)
