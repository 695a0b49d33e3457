"""Lines that cannot be used are put aside, as they are, and the run goes on."""

import resource
from pathlib import Path

import pytest

from connectors.files import line_reader
from connectors.jsonl.reading import validate
from connectors.jsonl.source import JsonlSource
from operators.errors import InputError
from operators.events import Partial
from tests.connectors.jsonl.partials import BAD_LINES, line, read, write


def test_bad_lines_that_find_no_room_aside_are_counted_and_do_not_end_the_run(tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl", b"bad\n", line(), b"bad, and longer\n", line(revision=1))
    source = JsonlSource(path, Partial, skip_bad=True)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8, limits[1]))
    try:
        assert [event.revision for event in read(source)] == [0, 1]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (source.rejected, source.not_kept) == (2, 1)
    assert source.rejected_path.read_bytes() == b"bad\n"


def test_bad_lines_are_put_aside_as_they_are(tmp_path: Path) -> None:
    bad = list(BAD_LINES.values())[:-2]
    path = write(tmp_path / "p.jsonl", line(), *bad, line(revision=1), line(revision=1), b'{"cut')
    source = JsonlSource(path, Partial, skip_bad=True)
    assert [event.revision for event in read(source)] == [0, 1]
    assert source.rejected == len(bad) + 2
    assert source.rejected_path.read_bytes() == b"".join([*bad, line(revision=1), b'{"cut'])
    assert source.rejected_path.name == "p.jsonl.rejected"


def test_a_run_that_rejects_nothing_leaves_no_rejected_lines_of_another_run(tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl", line())
    source = JsonlSource(path, Partial, skip_bad=True)
    source.rejected_path.write_text("old")
    read(source)
    assert not source.rejected_path.exists()
    assert source.rejected == 0


def test_a_line_that_is_too_long_is_never_held_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_reader, "MAX_LINE_BYTES", 1000)
    monkeypatch.setattr("connectors.jsonl.lines.MAX_LINE_BYTES", 1000)
    long = line(text="x" * 5000)
    path = write(tmp_path / "p.jsonl", line(), long, b" " * 5000 + b"\n", line(revision=1))
    with pytest.raises(InputError, match="line 2: expected at most 1,000 bytes in a line, found more"):
        validate(path, Partial)
    with line_reader.LineReader(path) as lines:
        assert max(map(len, lines)) == 1001
        assert lines.number == 4
    source = JsonlSource(path, Partial, skip_bad=True)
    assert [event.revision for event in read(source)] == [0, 1]
    assert source.rejected_path.read_bytes() == long + b" " * 5000 + b"\n"
