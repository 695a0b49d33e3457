"""A file of events is whole: with any number of workers, on a full disk, and on disk at once."""

from pathlib import Path
from typing import Any

import pytest
from bytewax.testing import TestingSource

from connectors.files.records import Held
from connectors.jsonl.reading import validate
from connectors.jsonl.source import JsonlSource
from connectors.sinks.jsonl import JsonlSink
from operators.errors import OutputError
from operators.events import Partial
from tests.connectors.jsonl.partials import copy, events, partial, write, write_events


def test_one_file_is_whole_however_many_workers_there_are(tmp_path: Path) -> None:
    path = write_events(tmp_path / "p.jsonl", events(200))
    out = tmp_path / "out.jsonl"
    copy(JsonlSource(path, Partial), JsonlSink(out), workers=3)
    assert validate(out, Partial) == 200


def test_a_new_run_replaces_a_file(tmp_path: Path) -> None:
    out = write(tmp_path / "out.jsonl", b"old\n")
    copy(TestingSource(events(1)), JsonlSink(out))
    assert validate(out, Partial) == 1


def test_a_batch_is_on_disk_as_soon_as_it_was_written(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    part = JsonlSink(out).build_part("out", "part", None)
    part.write_batch([partial(), partial(0, 1)])
    assert validate(out, Partial) == 2
    assert part.snapshot() == Held(out.stat().st_size)
    part.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_an_output_error() -> None:
    with pytest.raises(OutputError, match="/dev/full cannot be written: No space left"):
        copy(TestingSource(events(1)), JsonlSink(Path("/dev/full")))


def test_half_a_line_is_taken_back_when_the_disk_fills_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out.jsonl"
    part: Any = JsonlSink(out).build_part("out", "part", None)
    part.write_batch([partial()])
    file = part._target._file._file

    class Full:
        def __getattr__(self, name: str) -> Any:
            return getattr(file, name)

        def write(self, data: bytes) -> int:
            if len(data) < 50:
                raise OSError(28, "No space left on device")
            return int(file.write(data[:-40]))

    monkeypatch.setattr(part._target._file, "_file", Full())
    with pytest.raises(OutputError, match="No space left"):
        part.write_batch([partial(0, 1)])
    assert validate(out, Partial) == 1
    part.close()
