"""The chapters of a recording as WebVTT, for ``<track kind="chapters">`` and players that read such files."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec

from connectors.audio.media_process import Refusal, limit_memory, open_container
from connectors.files.atomic import write_atomically
from connectors.sinks.subtitles import VTT_HEADER, vtt
from operators.extras import EXTRAS, missing
from operators.subtitles.timing import Cue
from operators.text import cleaned

# Seconds for reading the index of a file.
_WAIT_S = 60


class _Chapter(msgspec.Struct, frozen=True):
    start_ms: int
    end_ms: int
    title: str


def write_chapters(recording: Path, into: Path) -> bool:
    """Write the chapters of a recording, each as a cue that is its title; whether there are any.

    Raises:
        OutputError: when the file cannot be written.
    """
    if missing(EXTRAS["media"]):
        return False
    try:
        told = subprocess.run(
            [sys.executable, "-m", "connectors.exports.chapters", f"file:{recording.absolute()}"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            timeout=_WAIT_S,
            check=True,
        ).stdout
        chapters = msgspec.json.decode(told, type=list[_Chapter])
    except (OSError, subprocess.SubprocessError, msgspec.MsgspecError):
        return False
    cues = [
        vtt(Cue(one.start_ms, one.end_ms, (cleaned(one.title).strip() or str(number),)))
        for number, one in enumerate(chapters, 1)
        if one.end_ms > one.start_ms >= 0
    ]
    if cues:
        write_atomically(into, (VTT_HEADER + "".join(cues)).encode())
    return bool(cues)


def main() -> None:
    """Print the chapters of what the argument names, as JSON: decoders are kept in a process of their own."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    limit_memory()
    try:
        with open_container(sys.argv[1]) as recording:
            begin_ms = (recording.start_time or 0) // 1000
            chapters = [
                _Chapter(
                    round(one["start"] * one["time_base"] * 1000) - begin_ms,
                    round(one["end"] * one["time_base"] * 1000) - begin_ms,
                    one["metadata"].get("title", ""),
                )
                for one in recording.chapters()
            ]
    except Refusal:
        chapters = []
    sys.stdout.buffer.write(msgspec.json.encode(chapters))


if __name__ == "__main__":
    main()
