"""Files for each room of a server, in one folder: its finals as JSON lines, and its subtitles."""

import errno
import re
import stat
from collections.abc import Callable, Iterable
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any, Generic

import msgspec

from connectors.files.backlog import Backlog
from connectors.files.output import WriteError, check_writable, make_folder
from connectors.files.records import LinesFile, P, RecordFile, T
from connectors.files.watch import OutputWatch
from connectors.sinks.subtitles import SubtitleFile, SubtitlePosition
from operators.events import Caption, parted
from operators.languages import Direction
from operators.subtitles.timing import Cue
from operators.subtitles.writer import Columns, SubtitleWriter

# Bytes that a room's name may take in the name of its files, of the 255 that file systems allow.
_MAX_NAME_BYTES = 150
_NOT_IN_NAMES = re.compile(r"[^\w .,()+=@-]")
# Rooms that are over and whose files still cannot be written; beyond it, those of the oldest are given up.
_MAX_LATE = 100
# Seconds between two attempts to write them. Captions of all rooms wait meanwhile.
_RETRY_S = 3.0
#: Files of a room with captions in one language.
FILES = 2
_TIMES = ("start_s", "end_s", "arrival_s", "started_s", "ready_s", "shown_s")

_encode = msgspec.json.Encoder().encode


class RoomFiles:
    """Writes what rooms said, each language of captions into files of its own. Thread-safe.

    A final is in its room's ``.jsonl`` before `write` returns; the ``.vtt`` follows with the next caption, or
    when the room ends. Times count from the beginning of the room. What cannot be written for now waits, and
    the captions continue.

    Delivery: best effort. Rooms cannot be resumed, and nothing is written twice. What is in a file survives
    the end of the process at any moment.
    """

    def __init__(self, folder: Path, watch: OutputWatch, now: Callable[[], float] = monotonic) -> None:
        """Prepare files in ``folder``; ``watch`` is told while one cannot be written."""
        self._now = now
        self._retry_at_s = 0.0
        self._folder = folder
        self._watch = watch
        self._lock = Lock()
        self._open: dict[str, _RoomFile] = {}
        # Of rooms that are over, as long as something waits to be written.
        self._late: list[_RoomFile] = []

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
            self._retry_if_due()

    def end(self, stream: str) -> None:
        """A room is over: write what is left of it, and close its files."""
        with self._lock:
            for channel in [one for one in self._open if parted(one)[0] == stream]:
                file = self._open.pop(channel)
                file.end()
                self._late += self._unwritten([file])
            self._retry_if_due()

    def end_all(self) -> None:
        """All rooms are over."""
        for stream in {parted(one)[0] for one in self._open}:
            self.end(stream)

    def close(self) -> None:
        """Close all files, after a last attempt to write them."""
        self.end_all()
        with self._lock:
            for file in self._late:
                file.close()
            self._late.clear()

    def _retry_if_due(self) -> None:
        now_s = self._now()
        if now_s >= self._retry_at_s:
            self._retry_at_s = now_s + _RETRY_S
            self._late = self._unwritten(self._late)
        for file in self._late[:-_MAX_LATE]:
            file.close()
        self._late = self._late[-_MAX_LATE:]

    @staticmethod
    def _unwritten(files: Iterable["_RoomFile"]) -> list["_RoomFile"]:
        """Those of the files that cannot be written yet; the others are closed."""
        late = []
        for file in files:
            if file.is_written():
                file.close()
            else:
                late.append(file)
        return late


def file_name(stream: str) -> str:
    """The name of a room's files without their ending; the end of the stream's name makes it unique."""
    name, _, unique = stream.rpartition(".")
    plain = _NOT_IN_NAMES.sub("_", name).lstrip(". ")
    short = plain.encode()[:_MAX_NAME_BYTES].decode(errors="ignore").rstrip()
    return f"{short or 'room'}.{_NOT_IN_NAMES.sub('_', unique)}"


class _RoomFile:
    """The two files of a room."""

    def __init__(self, path: Path, direction: Direction, began_s: float, watch: OutputWatch) -> None:
        self._began_s = began_s
        columns = Columns(direction.source.columns, direction.target.columns)
        self._writer = SubtitleWriter("target", columns)
        lines, cues = (path.with_name(f"{path.name}.{kind}") for kind in ("jsonl", "vtt"))
        self._finals = Backlog[Caption, int](
            _Later(
                str(lines),
                lambda: LinesFile(lines, _size(lines), None, _line),
                0,
                lambda one: len(_line(one)),
            ),
            watch,
        )
        self._cues = Backlog[Cue, SubtitlePosition](
            _Later(
                str(cues),
                lambda: SubtitleFile(cues, "vtt", SubtitlePosition(_size(cues)), None),
                SubtitlePosition(),
                SubtitleFile.bytes_of,
            ),
            watch,
        )

    def write(self, caption: Caption) -> None:
        own = _since(caption, self._began_s)
        if own.is_final:
            self._finals.write_batch([own])
        self._cues.write_batch(self._writer.take([own]))

    def end(self) -> None:
        self._cues.write_batch(self._writer.release())

    def is_written(self) -> bool:
        """Whether all that can be is on the disk; tries to write what is not."""
        for file in (self._finals, self._cues):
            file.snapshot()
        return not (self._finals.waits or self._cues.waits)

    def close(self) -> None:
        self._finals.close()
        self._cues.close()


def _size(path: Path) -> int:
    """What a file holds already: a caption that comes after the end of its room is added to it.

    Raises `WriteError` if the system does not tell, or for anything but a file: opening a pipe would wait.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise WriteError(path, error) from None
    if not stat.S_ISREG(status.st_mode):
        number = errno.EISDIR if stat.S_ISDIR(status.st_mode) else errno.ENODEV
        raise WriteError(path, OSError(number, "it is no file"))
    return status.st_size


def _line(caption: Caption) -> bytes:
    return _encode(caption) + b"\n"


def _since(caption: Caption, began_s: float) -> Caption:
    """A caption whose times count from a later moment."""
    times: dict[str, Any] = {name: getattr(caption, name) for name in _TIMES}
    later = {name: max(0.0, round(at_s - began_s, 6)) for name, at_s in times.items() if at_s is not None}
    return msgspec.structs.replace(caption, **later)


class _Later(Generic[T, P]):
    """A file of records that is opened with its first one: until then, its disk may be full, too."""

    def __init__(
        self, path: str, open_it: Callable[[], RecordFile[T, P]], start: P, size_of: Callable[[T], int]
    ) -> None:
        self.path = path
        self.size_of = size_of
        self._open_it = open_it
        self._start = start
        self._file: RecordFile[T, P] | None = None

    @property
    def deletions(self) -> int:
        return 0 if self._file is None else self._file.deletions

    @property
    def position(self) -> P:
        return self._start if self._file is None else self._file.position

    def begin(self) -> None:
        self._file = self._file or self._open_it()
        self._file.begin()

    def append(self, record: T) -> None:
        assert self._file is not None, "it has begun"
        self._file.append(record)

    def sync(self) -> None:
        if self._file is not None:
            self._file.sync()

    def cut_back(self, position: P) -> None:
        if self._file is not None:
            self._file.cut_back(position)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
