"""Writes cues to subtitle files, which are complete and valid at any time."""

from functools import partial
from pathlib import Path
from typing import Literal

import msgspec
from typing_extensions import override

from connectors.files.backlog import FileSink
from connectors.files.output import OutputFile
from connectors.files.records import RecordFile
from connectors.files.watch import OutputWatch
from connectors.sinks.part import SinkPart
from operators.subtitles.timing import Cue

#: The beginning of a WebVTT file; a SubRip file has none.
VTT_HEADER = "WEBVTT\n\n"

# SubRip has no escapes, and players obey HTML and SSA tags: these characters look alike and have no meaning.
_SRT_HARMLESS = str.maketrans({"<": "‹", ">": "›", "{": "(", "}": ")", "\\": "∖"})
_VTT_ESCAPED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def srt(cue: Cue, number: int) -> str:
    """A cue of a SubRip file, with the blank line that ends it; numbers count from 1."""
    text = "\n".join(cue.lines).translate(_SRT_HARMLESS)
    return f"{number}\n{_time(cue.start_ms, ',')} --> {_time(cue.end_ms, ',')}\n{text}\n\n"


def vtt(cue: Cue) -> str:
    """A cue of a WebVTT file, with the blank line that ends it."""
    text = "\n".join(cue.lines).translate(_VTT_ESCAPED)
    return f"{_time(cue.start_ms, '.')} --> {_time(cue.end_ms, '.')}\n{text}\n\n"


def _time(at_ms: int, point: str) -> str:
    seconds, thousandths = divmod(at_ms, 1000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{hour:02}:{minute:02}:{second:02}{point}{thousandths:03}"


Format = Literal["srt", "vtt"]


class SubtitlePosition(msgspec.Struct, frozen=True):
    """How far a subtitle file has been written."""

    #: Size of the file in bytes.
    size: int = 0
    #: Number of cues in it.
    cues: int = 0


class SubtitleSink(FileSink[Cue, SubtitlePosition]):
    """Appends each cue in UTF-8 without a byte order mark, with LF line ends.

    Each batch is written to the file immediately, as whole cues, which never change later; a WebVTT file has
    its header from the beginning.

    Delivery: exactly once with recovery into a regular file, which a resumed run truncates to its size at the
    snapshot; best effort into a pipe or a device.

    Args:
        path: The file; its contents are replaced.
        watch: Notified while the file cannot be written, and the flow continues; without it the flow ends.

    Raises:
        OutputError: when the file cannot be written: at once, if that can be known, or while the flow runs.

    Example:
        >>> from bytewax import operators as op
        >>> from bytewax.dataflow import Dataflow
        >>> from bytewax.testing import run_main
        >>> from pathlib import Path
        >>> from connectors import JsonlSource, SubtitleSink
        >>> from operators import Caption, subtitle
        >>> from operators.subtitles.writer import Columns
        >>> flow = Dataflow("example")
        >>> captions = op.input("in", flow, JsonlSource(Path("captions.jsonl"), Caption))
        >>> cues = subtitle("subtitle", captions, "target", Columns())
        >>> op.output("out", cues, SubtitleSink(Path("talk.vtt"), "vtt"))
        >>> run_main(flow)
        >>> Path("talk.vtt").read_text()[:6]
        'WEBVTT'
    """

    def __init__(self, path: Path, kind: Format, *, watch: OutputWatch | None = None) -> None:
        super().__init__(path, watch=watch)
        self._kind: Format = kind

    @override
    def open_file(
        self, position: SubtitlePosition | None, file: int | None
    ) -> RecordFile[Cue, SubtitlePosition]:
        return SubtitleFile(self.path, self._kind, position or SubtitlePosition(), file)


_HELP = "again as source=FILE, target=FILE or both=FILE for what else they show"
srt_part = SinkPart(
    "srt", partial(SubtitleSink, kind="srt"), "cues", f"Write subtitles here (SubRip); {_HELP}.", shows=True
)
vtt_part = SinkPart(
    "vtt", partial(SubtitleSink, kind="vtt"), "cues", f"Write subtitles here (WebVTT); {_HELP}.",
    header=VTT_HEADER, shows=True,
)  # fmt: skip


class SubtitleFile:
    """The file, as a `RecordFile` for the backlog. Cues are numbered when written, so none is missing."""

    def __init__(self, path: Path, kind: Format, position: SubtitlePosition, file: int | None) -> None:
        """Open a file at a position of an earlier run; ``file`` is its descriptor if it is open already."""
        self.path = str(path)
        self._kind: Format = kind
        self._cues = position.cues
        self._file = OutputFile(path, position.size, file)

    @property
    def position(self) -> SubtitlePosition:
        """How far it has been written."""
        return SubtitlePosition(self._file.size, self._cues)

    @property
    def deletions(self) -> int:
        """How often the file was found deleted or truncated, with the loss of its contents."""
        return self._file.deletions

    def begin(self) -> None:
        """Create the file again if it was deleted, and write its header."""
        self._file.reopen()
        if self._file.size == 0:
            self._cues = 0
            if self._kind == "vtt":
                self._file.write(VTT_HEADER.encode())

    def append(self, record: Cue) -> None:
        """Write one cue."""
        self._file.write(self._text(record).encode())
        self._cues += 1

    def size_of(self, record: Cue) -> int:
        """Approximate bytes of a cue."""
        return self.bytes_of(record)

    @staticmethod
    def bytes_of(cue: Cue) -> int:
        """The same, without a file."""
        return len(vtt(cue).encode())

    def _text(self, cue: Cue) -> str:
        return srt(cue, self._cues + 1) if self._kind == "srt" else vtt(cue)

    def sync(self) -> None:
        """Make sure that what was written survives a crash of the machine."""
        self._file.sync()

    def cut_back(self, position: SubtitlePosition) -> None:
        """Remove what was written after a position; never raises."""
        self._file.cut_back(position.size)
        self._cues = position.cues

    def close(self) -> None:
        """Close the file; never raises."""
        self._file.close()
