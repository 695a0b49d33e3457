"""Cues into subtitle files, which are whole and valid whenever somebody looks at them."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec
from bytewax.outputs import FixedPartitionedSink, StatefulSinkPartition
from typing_extensions import override

from connectors.output_file import OutputFile, check_writable
from operators.errors import OutputError
from operators.subtitles.formats import VTT_HEADER, srt, vtt
from operators.subtitles.timing import Cue

Format = Literal["srt", "vtt"]


class SubtitlePosition(msgspec.Struct, frozen=True):
    """The sink's resume state."""

    #: Bytes of the file.
    size: int = 0
    #: Cues in it.
    cues: int = 0


class SubtitleSink(FixedPartitionedSink[Cue, SubtitlePosition]):
    """Writes each cue behind the others, in UTF-8 without a mark of it and with newlines alone.

    One worker writes, however many there are. Each batch reaches the file at once and as whole cues,
    which are never changed again; a WebVTT file has its header from the beginning.

    Delivery: exactly once with recovery into a regular file, which a resumed run cuts back to where the
    snapshot was taken; best effort into a pipe or a device.

    :arg path: The file; what it held is replaced.
    :arg kind: SubRip or WebVTT.
    :arg reading: The files that the same run reads.
    :raises OutputError: when the file cannot be written: here, if that can be known, or while the flow runs.
    """

    def __init__(self, path: Path, kind: Format, *, reading: Iterable[Path] = ()) -> None:
        check_writable(path, reading=reading)
        self._path = path
        self._kind: Format = kind

    @override
    def list_parts(self) -> list[str]:
        return [os.path.realpath(self._path)]

    @override
    def part_fn(self, item_key: str) -> int:
        return 0

    @override
    def build_part(
        self, step_id: str, for_part: str, resume_state: SubtitlePosition | None
    ) -> "_SubtitlePartition":
        return _SubtitlePartition(self._path, self._kind, resume_state or SubtitlePosition())


class _SubtitlePartition(StatefulSinkPartition[Cue, SubtitlePosition]):
    def __init__(self, path: Path, kind: Format, position: SubtitlePosition) -> None:
        self._kind: Format = kind
        self._cues = position.cues
        self._file = OutputFile(path, position.size)
        if kind == "vtt" and position.size == 0:
            self._write(VTT_HEADER)

    @override
    def write_batch(self, values: list[Cue]) -> None:
        numbered = enumerate(values, self._cues + 1)
        texts = (srt(cue, number) if self._kind == "srt" else vtt(cue) for number, cue in numbered)
        self._write("".join(texts))
        self._cues += len(values)

    def _write(self, text: str) -> None:
        try:
            self._file.write(text.encode())
        except OutputError:
            # Nobody closes a sink that could not be built.
            self._file.close()
            raise

    @override
    def snapshot(self) -> SubtitlePosition:
        self._file.sync()
        return SubtitlePosition(self._file.size, self._cues)

    @override
    def close(self) -> None:
        self._file.close()
