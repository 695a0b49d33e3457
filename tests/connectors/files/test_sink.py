"""Files of records are whole at every moment, and what they lack is counted while the flow goes on."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from connectors.files.sink import FilePartition, FileState
from connectors.files.watch import OutputWatch
from connectors.sinks.jsonl import JsonlSink
from connectors.sinks.subtitles import SubtitleSink
from connectors.sinks.wav import WavSink
from operators.errors import OutputError
from operators.events import AudioChunk
from operators.notifications import Missing, OutputChanged
from operators.subtitles.timing import Cue
from tests.connectors.jsonl.partials import events
from tests.limits import limited


def opened(sink: Any, state: FileState | None = None) -> FilePartition[Any]:
    partition: FilePartition[Any] = sink.build_part("out", "file", state)
    return partition


def test_a_file_that_has_become_shorter_is_not_gone_on_with(tmp_path: Path) -> None:
    (tmp_path / "out.jsonl").touch()
    with pytest.raises(OutputError, match=r"out\.jsonl has become shorter since the run being resumed"):
        opened(JsonlSink(tmp_path / "out.jsonl"), FileState(10_000))


def test_what_finds_no_room_is_counted_reported_once_and_still_known_to_a_resumed_run(tmp_path: Path) -> None:
    told: list[OutputChanged] = []
    watch = OutputWatch(told.append)
    path = tmp_path / "out"
    chunks = [AudioChunk(stream="talk", start_s=at / 10, pcm=bytes(3200)) for at in range(9)]
    part = opened(WavSink(path, watch=watch))
    part.write_batch(chunks[:2])
    size = path.stat().st_size
    with limited(size + 100):
        part.write_batch(chunks[2:5])
        assert path.stat().st_size == size
        state = part.snapshot()
    part.write_batch(chunks[5:])
    part.close()
    assert [(one.path, one.is_late) for one in told] == [(str(path), True)]
    assert watch.missing() == [Missing(str(path), 3, "File too large")]
    opened(WavSink(path, watch=(later := OutputWatch(print))), state).close()
    assert later.missing() == watch.missing()


def test_without_a_watch_the_first_error_ends_the_flow(tmp_path: Path) -> None:
    part = opened(SubtitleSink(tmp_path / "out.srt", "srt"))
    part.write_batch([Cue(0, 1000, ("one",))])
    kept = (tmp_path / "out.srt").read_bytes()
    with limited(len(kept) + 20), pytest.raises(OutputError, match=r"out\.srt cannot be written: File too"):
        part.write_batch([Cue(0, 1000, ("two",))])
    assert (tmp_path / "out.srt").read_bytes() == kept
    part.close()


def test_records_that_may_not_have_reached_the_disk_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = OutputWatch(lambda _event: None)
    part = opened(JsonlSink(tmp_path / "out.jsonl", watch=watch))
    part.write_batch(events(2))
    part.snapshot()
    part.write_batch(events(3)[2:])

    def broken(_file: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr("os.fsync", broken)
    part.snapshot()
    part.snapshot()
    part.close()
    assert [one.records for one in watch.missing()] == [1]


def test_a_reader_that_leaves_a_pipe_is_an_error_of_each_record(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OutputError, match="nobody reads it; start a reader for it first"):
        opened(JsonlSink(tmp_path / "pipe"))
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    watch = OutputWatch(lambda _event: None)
    part = opened(JsonlSink(tmp_path / "pipe", watch=watch))
    part.write_batch(events(1))
    assert os.read(reader, 65536).endswith(b"\n")
    os.close(reader)
    part.write_batch(events(2))
    assert [(one.records, one.reason) for one in watch.missing()] == [(2, "Broken pipe")]
    part.close()
