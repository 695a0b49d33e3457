"""Events of a file in a flow: in batches, in real time, and after a kill where they were."""

import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from connectors.jsonl.files import validate
from connectors.jsonl.source import JsonlPosition, JsonlSource
from connectors.messages import NOTICE
from operators.errors import InputError, OutputError
from operators.events import Partial
from tests.connectors.jsonl.partials import (
    BAD_LINES,
    drained,
    events,
    line,
    partial,
    read,
    write,
    write_events,
)
from tests.limits import limited


def test_bad_lines_that_cannot_be_put_aside_end_the_run(tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl", b"bad\n", line())
    with limited(2), pytest.raises(OutputError, match=r"p\.jsonl\.rejected cannot be written: File too"):
        read(JsonlSource(path, Partial, skip_bad=True))


def test_bad_lines_are_put_aside_as_they_are_and_none_of_another_run(tmp_path: Path) -> None:
    bad = list(BAD_LINES.values())[:-2]
    path = write(tmp_path / "p.jsonl", line(), *bad, line(revision=1), line(revision=1), b'{"cut')
    source = JsonlSource(path, Partial, skip_bad=True)
    assert [event.revision for event in read(source)] == [0, 1]
    assert source.rejected == len(bad) + 2
    assert (tmp_path / "p.jsonl.rejected").read_bytes() == b"".join([*bad, line(revision=1), b'{"cut'])
    again = JsonlSource(write(path, line()), Partial, skip_bad=True)
    read(again)
    assert (again.rejected, again.rejected_path.exists()) == (0, False)


def test_a_line_that_is_too_long_is_never_held_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("connectors.jsonl.files.MAX_LINE_BYTES", 1000)
    long = line(text="x" * 5000)
    path = write(tmp_path / "p.jsonl", line(), long, b" " * 5000 + b"\n", line(revision=1))
    with pytest.raises(InputError, match="line 2: expected at most 1,000 bytes in a line, found more"):
        validate(path, Partial)
    source = JsonlSource(path, Partial, skip_bad=True)
    assert [event.revision for event in read(source)] == [0, 1]
    assert source.rejected_path.read_bytes() == long


def test_batches_are_bounded_and_come_in_order(tmp_path: Path) -> None:
    path = write_events(tmp_path / "p.jsonl", events(100))
    part = JsonlSource(path, Partial, batch_size=30).build_part("in", "part", None)
    sizes = [len(part.next_batch()) for _ in range(4)]
    part.close()
    assert sizes == [30, 30, 30, 10]
    assert read(JsonlSource(path, Partial)) == events(100)


def test_real_time_hands_over_events_when_they_arrived(tmp_path: Path) -> None:
    arrivals = [0.0, 0.15, 0.15, 0.3]
    written = [partial(0, revision, arrival_s=at) for revision, at in enumerate(arrivals)]
    source = JsonlSource(write_events(tmp_path / "p.jsonl", written), Partial, realtime=True)
    part = source.build_part("in", "part", None)
    came = [source.now() for _ in drained(part)]
    part.close()
    assert all(-0.001 <= at - due < 60 for at, due in zip(came, arrivals, strict=True))


def test_a_source_that_waits_neither_blocks_nor_outlives_a_stop(tmp_path: Path) -> None:
    path = write_events(tmp_path / "p.jsonl", [partial(arrival_s=0.0), partial(1, arrival_s=1e9)])
    stop = threading.Event()
    part = JsonlSource(path, Partial, realtime=True, stop=stop).build_part("in", "part", None)
    assert part.next_batch() == [partial(arrival_s=0.0)]
    assert part.next_batch() == []
    awake = part.next_awake()
    assert awake is not None
    assert awake < datetime.now(UTC) - timedelta(days=1), "a wall clock that is set back would hold it up"
    stop.set()
    with pytest.raises(StopIteration):
        part.next_batch()
    part.close()


def test_a_file_that_was_cut_is_played_from_its_first_event_and_a_long_wait_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(NOTICE)
    cut = [partial(segment, arrival_s=3600.0 * (1 + segment)) for segment in range(2)]
    source = JsonlSource(write_events(tmp_path / "p.jsonl", cut), Partial, realtime=True)
    part = source.build_part("in", "part", None)
    assert part.next_batch() == cut[:1]
    assert part.snapshot().clock_s >= 3600.0
    assert part.next_batch() == part.next_batch() == []
    part.close()
    assert caplog.messages == [
        f"{source.path} begins 3,600 s into its recording and is played from there",
        f"the next event of {source.path} comes in 3,600 s, as in its recording",
    ]


def test_a_resumed_clock_does_not_wait_for_what_has_passed(tmp_path: Path) -> None:
    path = write_events(tmp_path / "p.jsonl", [partial(arrival_s=100.0)])
    source = JsonlSource(path, Partial, realtime=True)
    part = source.build_part("in", "part", JsonlPosition(clock_s=100.0))
    assert part.next_batch() == [partial(arrival_s=100.0)]
    assert part.snapshot().clock_s >= 100.0
    part.close()


def test_a_resumed_run_refuses_a_file_that_has_changed(tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl", line(), line(revision=1))
    second = path.read_bytes().index(b"\n") + 1
    part = JsonlSource(path, Partial).build_part("in", "part", JsonlPosition(offset=second))
    assert [event.revision for event in part.next_batch()] == [1]
    part.close()
    for offset in (second - 2, second + 5, 10_000):
        with pytest.raises(InputError, match="has changed since the run being resumed"):
            JsonlSource(path, Partial).build_part("in", "part", JsonlPosition(offset=offset))


def test_a_resumed_run_puts_the_same_lines_aside_as_an_unbroken_one(tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl", b"bad\n", line(), line(revision=1), b"worse\n")
    source = JsonlSource(path, Partial, skip_bad=True, batch_size=1)
    killed = source.build_part("in", "part", None)
    assert [event.revision for event in killed.next_batch()] == [0]
    resumed = source.build_part("in", "part", killed.snapshot())
    assert [event.revision for event in drained(resumed)] == [1]
    resumed.close()
    killed.close()
    assert source.rejected == 2
    assert source.rejected_path.read_bytes() == b"bad\nworse\n"
