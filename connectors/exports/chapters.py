"""The chapters of a recording as WebVTT, for ``<track kind="chapters">`` and players that read such files."""

import re
from fractions import Fraction
from pathlib import Path

from connectors.audio import ffmpeg
from connectors.files.atomic import write_atomically
from connectors.sinks.subtitles import VTT_HEADER, vtt
from operators.subtitles.timing import Cue
from operators.text import cleaned

# Seconds for reading the index of a file.
_WAIT_S = 60
# FFmpeg's metadata: a value goes to the end of its line, unless a backslash is before that.
_VALUE = re.compile(r"^(\w+)=((?:\\.|[^\\\n])*)", re.DOTALL | re.MULTILINE)


def write_chapters(recording: Path, into: Path) -> bool:
    """Write the chapters of a recording, each as a cue that is its title; whether there are any.

    Raises:
        OutputError: when the file cannot be written.
    """
    if not ffmpeg.is_there():
        return False
    arguments = [*ffmpeg.opening(f"file:{recording.absolute()}"), "-f", "ffmetadata", "-"]
    metadata = ffmpeg.Ffmpeg(arguments).output(_WAIT_S).decode(errors="replace")
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
