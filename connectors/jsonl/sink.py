"""Events into files of JSON lines."""

from pathlib import Path

import msgspec
from typing_extensions import override

from connectors.files.output import OutputFile
from connectors.files.records import RecordFile
from connectors.files.sink import FileSink
from operators.events import Event


class JsonlSink(FileSink[Event, int]):
    """Writes each event as a line; takes pairs of a key, which does not matter, and an event.

    Each batch reaches the file at once and as whole lines.

    Delivery: exactly once with recovery into a regular file, which a resumed run cuts back to where the
    snapshot was taken; best effort into a pipe or a device.

    Args:
        path: The file; what it held is replaced.
        watch: Is told while the file cannot be written, and the flow goes on; without it that ends the flow.

    Raises:
        OutputError: when the file cannot be written: here, if that can be known, or while the flow runs.
    """

    @override
    def open_file(self, position: int | None, file: int | None) -> RecordFile[Event, int]:
        return _Lines(self._path, position or 0, file)


class _Lines:
    """The file, as the backlog wants it."""

    def __init__(self, path: Path, size: int, file: int | None) -> None:
        self.path = str(path)
        self._encoder = msgspec.json.Encoder()
        self._file = OutputFile(path, size, file)
        # Where somebody else has cut off the last line; ours must not become part of it.
        self._lacks_newline = False

    @property
    def position(self) -> int:
        return self._file.size

    @property
    def deletions(self) -> int:
        return self._file.deletions

    def begin(self) -> None:
        size = self._file.size
        self._file.reopen()
        if self._file.size != size:
            self._lacks_newline = self._file.breaks_off

    def append(self, record: Event) -> None:
        line = self._encoder.encode_lines([record])
        self._file.write(b"\n" + line if self._lacks_newline else line)
        self._lacks_newline = False

    def size_of(self, record: Event) -> int:
        return len(self._encoder.encode(record))

    def sync(self) -> None:
        self._file.sync()

    def cut_back(self, position: int) -> None:
        self._file.cut_back(position)

    def close(self) -> None:
        self._file.close()
