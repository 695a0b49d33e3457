"""Events into files of JSON lines."""

from pathlib import Path

import msgspec
from bytewax.outputs import FixedPartitionedSink
from typing_extensions import override

from connectors.files.backlog import Backlog
from connectors.files.output import OutputFile, check_writable
from connectors.files.records import ONE_FILE, Held
from connectors.files.watch import OutputWatch
from operators.events import Event

#: The sink's resume state: bytes of the file, and what waits for it.
HeldEvents = Held[Event, int]


class JsonlSink(FixedPartitionedSink[Event, HeldEvents]):
    """Writes each event as a line; takes pairs of a key, which does not matter, and an event.

    One worker writes, however many there are. Each batch reaches the file at once and as whole lines.

    Delivery: exactly once with recovery into a regular file, which a resumed run cuts back to where the
    snapshot was taken; best effort into a pipe or a device.

    Args:
        path: The file; what it held is replaced.
        watch: Is told while the file cannot be written, and the flow goes on; without it that ends the flow.

    Raises:
        OutputError: when the file cannot be written: here, if that can be known, or while the flow runs.
    """

    def __init__(self, path: Path, *, watch: OutputWatch | None = None) -> None:
        check_writable(path)
        self._path = path
        self._watch = watch

    @override
    def list_parts(self) -> list[str]:
        return [ONE_FILE]

    @override
    def part_fn(self, item_key: str) -> int:
        return 0

    @override
    def build_part(self, step_id: str, for_part: str, resume_state: HeldEvents | None) -> Backlog[Event, int]:
        file = None if self._watch is None else self._watch.take(self._path)
        lines = _Lines(self._path, resume_state, file)
        return Backlog(lines, self._watch, resume_state)


class _Lines:
    """The file, as the backlog wants it."""

    def __init__(self, path: Path, held: HeldEvents | None, file: int | None) -> None:
        self.path = str(path)
        self._encoder = msgspec.json.Encoder()
        self._file = OutputFile(path, 0 if held is None else held.position, file)
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
