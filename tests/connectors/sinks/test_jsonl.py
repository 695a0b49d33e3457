"""A file of events is whole: with any number of workers, on a full disk, and on disk at once."""

from pathlib import Path

from bytewax.testing import TestingSource

from connectors.files.records import Held
from connectors.jsonl.files import validate
from connectors.jsonl.source import JsonlSource
from connectors.sinks.jsonl import JsonlSink
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
