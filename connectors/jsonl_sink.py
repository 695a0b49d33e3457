"""Events into files of JSON lines; used through `connectors.jsonl`."""

import os
from collections.abc import Iterable
from pathlib import Path

import msgspec
from bytewax.outputs import FixedPartitionedSink, StatefulSinkPartition
from typing_extensions import override

from connectors.output_file import OutputFile, check_writable
from operators.events import Event


class JsonlSink(FixedPartitionedSink[Event, int]):
    """Writes each event as a line; takes pairs of a key, which does not matter, and an event.

    One worker writes, however many there are. Each batch reaches the file at once and as whole lines.

    Delivery: exactly once with recovery into a regular file, which a resumed run cuts back to where the
    snapshot was taken; best effort into a pipe or a device.

    :arg path: The file; what it held is replaced.
    :arg append: Keep what it holds and write after it.
    :arg reading: The files that the same run reads.
    :raises OutputError: when the file cannot be written: here, if that can be known, or while the flow runs.
    """

    def __init__(self, path: Path, *, append: bool = False, reading: Iterable[Path] = ()) -> None:
        check_writable(path, reading=reading)
        self._path = path
        self._append = append

    @override
    def list_parts(self) -> list[str]:
        return [os.path.realpath(self._path)]

    @override
    def part_fn(self, item_key: str) -> int:
        return 0

    @override
    def build_part(self, step_id: str, for_part: str, resume_state: int | None) -> "_JsonlSinkPartition":
        return _JsonlSinkPartition(self._path, resume_state, append=self._append)


class _JsonlSinkPartition(StatefulSinkPartition[Event, int]):
    def __init__(self, path: Path, resume_state: int | None, *, append: bool) -> None:
        self._encoder = msgspec.json.Encoder()
        self._file = OutputFile(path, None if append and resume_state is None else resume_state or 0)
        if append and resume_state is None and self._file.breaks_off:
            # Somebody's last line was cut off; ours must not become part of it.
            self._file.write(b"\n")

    @override
    def write_batch(self, values: list[Event]) -> None:
        self._file.write(self._encoder.encode_lines(values))

    @override
    def snapshot(self) -> int:
        self._file.sync()
        return self._file.size

    @override
    def close(self) -> None:
        self._file.close()
