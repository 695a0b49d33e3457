"""Writes finished sentences as plain text, one a line."""

from pathlib import Path

from typing_extensions import override

from connectors.files.backlog import FileSink
from connectors.files.records import LinesFile, RecordFile
from connectors.files.watch import OutputWatch
from connectors.sinks.part import SinkPart
from operators.events import Caption
from operators.subtitles.writer import Shown


class TextSink(FileSink[Caption, int]):
    """Appends the text of each final caption as a line; takes pairs of a key, which is ignored, and captions.

    With ``both``, the line of the speech comes before that of its translation, and an empty one after it.

    Delivery: exactly once with recovery into a regular file, as of `JsonlSink`.
    """

    def __init__(self, path: Path, shown: Shown = "target", *, watch: OutputWatch | None = None) -> None:
        super().__init__(path, watch=watch)
        self._shown: Shown = shown

    @override
    def open_file(self, position: int | None, file: int | None) -> RecordFile[Caption, int]:
        return LinesFile(self.path, position or 0, file, self._lines)

    def _lines(self, caption: Caption) -> bytes:
        if not caption.is_final:
            return b""
        source, target = " ".join(caption.source.split()), " ".join(caption.text.split())
        text = {"source": source, "target": target, "both": f"{source}\n{target}\n"}[self._shown]
        return f"{text}\n".encode() if text.strip() else b""


txt = SinkPart(
    "txt", TextSink, "captions", "Write finished sentences here (plain text, one a line).", shows=True
)
