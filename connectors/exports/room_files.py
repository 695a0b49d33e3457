"""Files for each room of a server, in one folder: its finals as JSON lines, and its subtitles."""

import re
import sys
from pathlib import Path
from threading import Lock
from typing import Any

import msgspec

from connectors.files.output import check_writable, make_folder
from connectors.files.sink import FilePartition, FileState
from connectors.files.watch import OutputWatch
from connectors.sinks.jsonl import json_line
from connectors.sinks.subtitles import VTT_HEADER, vtt_cue
from operators.events import Caption, parted
from operators.languages import Direction
from operators.subtitles.timing import Cue
from operators.subtitles.writer import SubtitleWriter

# Maximum bytes of a room's name in the names of its files; file systems allow 255 in all.
_MAX_NAME_BYTES = 150
_NOT_IN_NAMES = re.compile(r"[^\w .,()+=@-]")
# Names of devices on Windows, whatever follows the first full stop.
_DEVICES = re.compile(r"(CON|PRN|AUX|NUL|(COM|LPT)\d) *(\.|$)", re.IGNORECASE)
#: Number of files of a room with captions in one language.
FILES = 2
# Keeps all of a file: a caption that comes after the end of its room is appended.
_ALL = FileState(size=sys.maxsize)
_TIMES = ("start_s", "end_s", "arrival_s", "started_s", "ready_s", "shown_s")


class RoomFiles:
    """Writes the captions of rooms, each language of captions into files of its own. Thread-safe.

    A final is in its room's ``.jsonl`` before `write` returns; the ``.vtt`` follows with the next caption, or
    when the room ends. Times count from the beginning of the room. Captions that cannot be written count as
    lost, and the room continues.

    Delivery: best effort. Rooms cannot be resumed, and nothing is written twice. Written captions survive the
    end of the process at any moment.
    """

    def __init__(self, folder: Path, watch: OutputWatch) -> None:
        self._folder = folder
        self._watch = watch
        self._lock = Lock()
        self._open: dict[str, _RoomFile] = {}

    def begin(self) -> None:
        """Create the folder if there is none. Raises `OutputError` when it cannot be written."""
        make_folder(self._folder)
        check_writable(self._folder / "room.jsonl")

    def write(self, caption: Caption, direction: Direction, began_s: float) -> None:
        """Write a caption of a room that began at ``began_s`` on the clock of its captions."""
        with self._lock:
            file = self._open.get(caption.channel)
            if file is None:
                name = file_name(caption.stream)
                path = self._folder / (f"{name}.{caption.language}" if caption.language else name)
                file = self._open[caption.channel] = _RoomFile(path, direction, began_s, self._watch)
            file.write(caption)

    def end(self, stream: str) -> None:
        """Write what is left of a room that is over, and close its files."""
        with self._lock:
            for channel in [one for one in self._open if parted(one)[0] == stream]:
                self._open.pop(channel).close()

    def close(self) -> None:
        for stream in {parted(one)[0] for one in self._open}:
            self.end(stream)


def file_name(stream: str) -> str:
    """The name of a room's files without their ending; the end of the stream's name makes it unique."""
    name, _, unique = stream.rpartition(".")
    plain = _NOT_IN_NAMES.sub("_", name).lstrip(". ")
    short = plain.encode()[:_MAX_NAME_BYTES].decode(errors="ignore").rstrip()
    if not short or _DEVICES.match(short):
        short = f"room {short}".rstrip()
    return f"{short}.{_NOT_IN_NAMES.sub('_', unique)}"


class _RoomFile:
    def __init__(self, path: Path, direction: Direction, began_s: float, watch: OutputWatch) -> None:
        self._began_s = began_s
        self._writer = SubtitleWriter("target", direction)
        lines, cues = (path.with_name(f"{path.name}.{kind}") for kind in ("jsonl", "vtt"))
        self._finals = FilePartition[Caption](lines, json_line, state=_ALL, watch=watch)
        header = VTT_HEADER.encode()
        self._cues = FilePartition[Cue](cues, vtt_cue, header, _ALL, watch)

    def write(self, caption: Caption) -> None:
        own = _since(caption, self._began_s)
        if own.is_final:
            self._finals.write_batch([own])
        self._cues.write_batch(self._writer.take([own]))

    def close(self) -> None:
        self._cues.write_batch(self._writer.release())
        for file in (self._finals, self._cues):
            file.snapshot()
            file.close()


def _since(caption: Caption, began_s: float) -> Caption:
    times: dict[str, Any] = {name: getattr(caption, name) for name in _TIMES}
    later = {name: max(0.0, round(at_s - began_s, 6)) for name, at_s in times.items() if at_s is not None}
    return msgspec.structs.replace(caption, **later)
