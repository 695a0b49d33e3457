"""Writes a recording again with subtitles: as tracks that a player turns on and off, or in the pictures."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event as Flag
from typing import NamedTuple

import msgspec

from connectors.audio.media_process import Refusal, Refused
from connectors.exports.lettering import font_for
from connectors.exports.mux_process import At, Job, Muxed, Track
from connectors.files.output import WriteError, unfinished
from operators.errors import InputError, OutputError, UsageError
from operators.extras import EXTRAS, require_extra
from operators.languages import Language
from operators.notifications import Progress, silent

#: FFmpeg's names of the containers that take subtitles, by suffix.
CONTAINERS = {".mp4": "mp4", ".m4v": "mp4", ".mkv": "matroska"}
_SUFFIXES = ".mp4, .m4v or .mkv"
# Those of recordings that fit into MP4, as a rule.
_LIKE_MP4 = (".mp4", ".m4v", ".m4a", ".mov")
_WAIT_S = 0.1


class Subtitles(NamedTuple):
    """A SubRip file, and the language that it is in."""

    path: Path
    language: Language

    @property
    def track(self) -> Track:
        """The track that it becomes."""
        return Track(
            subtitles=str(self.path.absolute()),
            language=self.language.three,
            title=self.language.own or self.language.name,
            code=self.language.code,
        )


def container_of(path: Path) -> str:
    """FFmpeg's name of the container for a file. Raises `UsageError` if it takes no subtitles."""
    if (container := CONTAINERS.get(path.suffix.lower())) is None:
        raise UsageError(f"{path}: its suffix is none of a file that takes subtitles; name it {_SUFFIXES}")
    return container


def suffix_for(recording: Path) -> str:
    """The suffix of a copy of a recording that takes subtitles."""
    suffix = recording.suffix.lower()
    return suffix if suffix in CONTAINERS else ".mp4" if suffix in _LIKE_MP4 else ".mkv"


def check_letters(one: Language) -> None:
    """Raise a `UsageError` if this system has no font for a language."""
    try:
        font_for(one.own or one.name, one.code)
    except Refusal as refusal:
        raise UsageError(
            f"{one.name} cannot be burnt into a video, because {refusal.told.why}; {refusal.told.remedy}"
        ) from None


def mux(recording: Path, tracks: Sequence[Subtitles], into: Path, stop: Flag | None = None) -> Muxed | None:
    """Copy a recording with subtitles into another file, which is complete or not there.

    Its other tracks, chapters and metadata are copied as they are. Nothing is decoded.

    Args:
        stop: When set, nothing is written.

    Returns:
        What could not be copied; None if it was stopped.

    Raises:
        UsageError: for a container that takes no subtitles, or when the extra is missing.
        InputError: when the recording cannot be read.
        OutputError: when the file cannot be written.
    """
    return _made(recording, into, stop, silent, tracks=tuple(one.track for one in tracks))


def burn(
    recording: Path, subtitles: Subtitles, into: Path, stop: Flag | None = None, progress: Progress = silent
) -> Muxed | None:
    """Copy a video with subtitles in its pictures, which are encoded again as H.264.

    All else is as with `mux`, also the errors; an `InputError` besides when no font has the letters.
    """
    return _made(recording, into, stop, progress, tracks=(), burnt=subtitles.track)


def _made(
    recording: Path, into: Path, stop: Flag | None, progress: Progress, *,
    tracks: tuple[Track, ...], burnt: Track | None = None,
) -> Muxed | None:  # fmt: skip
    require_extra(EXTRAS["media"], str(into))
    unready = unfinished(Path(os.path.realpath(into)))
    job = Job(
        recording=f"file:{recording.absolute()}", into=str(unready), container=container_of(into),
        tracks=tracks, burnt=burnt,
    )  # fmt: skip
    try:
        try:
            unready.touch()
        except OSError as error:
            raise WriteError(into, error) from None
        answer = _answer(job, stop or Flag(), lambda fraction: progress(f"writing {into}", fraction))
        if isinstance(answer, Muxed):
            # A link stays a link.
            unready.replace(os.path.realpath(into))
            return answer
    finally:
        unready.unlink(missing_ok=True)
    if answer is None:
        return None
    raise (OutputError if answer.remedy == "check the disk" else InputError)(
        f"{recording}: it cannot be copied into {into}, because {answer.why}; {answer.remedy}"
    )


def _answer(job: Job, stop: Flag, progress: Callable[[float], None]) -> Muxed | Refused | None:
    process = subprocess.Popen(
        [sys.executable, "-m", "connectors.exports.mux_process", msgspec.json.encode(job).decode()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OPENBLAS_NUM_THREADS": "1"},
        start_new_session=True,  # Ctrl-C is for this process, which then ends that one
    )
    told: list[Muxed | Refused | At] = []
    with process:
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), False)
        rest, is_over = b"", False
        try:
            while not is_over:
                if stop.wait(_WAIT_S):
                    return None
                is_over = process.poll() is not None
                *lines, rest = (rest + (process.stdout.read() or b"")).split(b"\n")
                told += [msgspec.json.decode(line, type=Muxed | Refused | At) for line in lines]
                if told and isinstance(last := told[-1], At):
                    progress(last.fraction)
        finally:
            process.kill()
    if not told or isinstance(answer := told[-1], At):
        return Refused(why="FFmpeg's libraries failed on it", remedy="export it again")
    return answer
