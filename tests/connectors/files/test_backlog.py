"""Files that cannot be written for a while: what waits, what is lost, what is told."""

import errno
import os
from collections.abc import Callable
from io import BufferedReader
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import soundfile

from connectors.files import backlog as backlogs
from connectors.files.backlog import Backlog, FileSink
from connectors.files.output import WriteError
from connectors.files.records import Held
from connectors.files.watch import OutputWatch
from connectors.jsonl.files import validate
from connectors.sinks.jsonl import JsonlSink
from connectors.sinks.part import SINKS as ALL_SINKS
from connectors.sinks.part import Step
from connectors.sinks.subtitles import SubtitleSink
from operators.events import SAMPLE_RATE, AudioChunk, Event, Partial, Translation
from operators.metrics.erasure import ErasureMeter
from operators.subtitles.timing import Cue
from tests.connectors.jsonl.partials import partial as any_partial
from tests.flows.talk import captions

SINKS = {name: one for name, one in ALL_SINKS.items() if not one.is_address}


def partial(segment: int) -> Partial:
    return any_partial(segment, is_final=True, start_s=float(segment), end_s=segment + 0.5)


def partials(first: int, last: int) -> list[Event]:
    return [partial(segment) for segment in range(first, last + 1)]


class Disk:
    """A file on a disk that can be full, or not take what it was given; each record has 10 bytes."""

    path = "talk.jsonl"
    deletions = 0

    def __init__(self) -> None:
        self.records: list[Event] = []
        self.attempts = 0
        self.room = 1000
        self.is_failing = False
        self.is_closed = False

    @property
    def position(self) -> int:
        return len(self.records)

    def begin(self) -> None:
        pass

    def append(self, record: Event) -> None:
        self.attempts += 1
        if len(self.records) >= self.room:
            raise WriteError(Path(self.path), OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
        self.records.append(record)

    def size_of(self, record: Event) -> int:  # noqa: ARG002 - the protocol
        return 10

    def sync(self) -> None:
        if self.is_failing:
            raise WriteError(Path(self.path), OSError(errno.EIO, os.strerror(errno.EIO)))

    def cut_back(self, position: int) -> None:
        del self.records[position:]

    def close(self) -> None:
        self.is_closed = True


class Desk:
    """A backlog before a disk, with a clock, and what was told."""

    def __init__(self, held: Held[Event, int] | None = None) -> None:
        self.disk = Disk()
        self.told: list[str] = []
        self.watch = OutputWatch(lambda event: self.told.append(event.sentence))
        self.now = 0.0
        self.backlog = Backlog[Event, int](self.disk, self.watch, held, lambda: self.now)


def test_what_a_full_disk_did_not_take_is_written_when_there_is_room() -> None:
    desk = Desk()
    desk.disk.room = 3
    desk.backlog.write_batch(partials(0, 5))
    assert desk.told == [
        "talk.jsonl cannot be written: No space left on device; free space on its disk, and the missing "
        "records will be written; captions continue"
    ]
    assert str(desk.watch.missing()[0]).startswith(
        "talk.jsonl lacks 3 records (segments 3 to 5 of talk, 3.0 s to"
    )
    desk.disk.room = 1000
    desk.now = 10.0
    desk.backlog.write_batch(partials(6, 6))
    assert desk.disk.records == partials(0, 6)
    assert desk.told[1:] == ["talk.jsonl can be written again; nothing is missing"]
    assert desk.watch.missing() == []


def test_it_is_tried_again_every_few_seconds_and_not_with_each_record() -> None:
    desk = Desk()
    desk.disk.room = 0
    for tenth in range(100):
        desk.now = tenth / 10
        desk.backlog.write_batch(partials(tenth, tenth))
    assert 3 <= desk.disk.attempts <= 5
    assert len(desk.told) == 1


def test_beyond_the_bound_the_oldest_are_lost_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backlogs, "MAX_WAITING_BYTES", 50)
    desk = Desk()
    desk.disk.room = 2
    desk.backlog.write_batch(partials(0, 1))
    for segment in range(2, 12):
        desk.backlog.write_batch(partials(segment, segment))
    assert len(desk.told) == 2
    assert "its oldest records are lost" in desk.told[1]
    desk.disk.room, desk.now = 1000, 10.0
    desk.backlog.close()
    assert desk.disk.records == [*partials(0, 1), *partials(7, 11)]
    assert desk.disk.is_closed
    assert desk.told[2] == (
        "talk.jsonl can be written again; it lacks 5 records (segments 2 to 6 of talk, 2.0 s to 6.5 s)"
    )
    assert [one.span.records for one in desk.watch.missing()] == [5]


def test_a_snapshot_holds_what_waits_and_a_resumed_run_writes_it() -> None:
    desk = Desk()
    desk.disk.room = 2
    desk.backlog.write_batch(partials(0, 4))
    held = desk.backlog.snapshot()
    assert (held.position, held.waiting) == (2, tuple(partials(2, 4)))
    # Killed here; the file is cut back to the position by its sink.
    resumed = Desk(held)
    resumed.backlog.write_batch(partials(5, 5))
    assert resumed.disk.records == partials(2, 5)


def test_what_did_not_reach_the_disk_is_written_again() -> None:
    desk = Desk()
    desk.backlog.write_batch(partials(0, 1))
    assert desk.backlog.snapshot() == Held(2)
    desk.backlog.write_batch(partials(2, 3))
    desk.disk.is_failing = True
    held = desk.backlog.snapshot()
    assert (held.position, held.waiting) == (2, tuple(partials(2, 3)))
    assert "Input/output error; check its disk" in desk.told[0]
    desk.disk.is_failing, desk.now = False, 10.0
    assert desk.backlog.snapshot() == Held(4, reason="Input/output error")
    assert desk.disk.records == partials(0, 3)


def test_a_close_while_nothing_helps_is_silent_and_what_waits_is_missing() -> None:
    desk = Desk()
    desk.disk.room = 0
    desk.backlog.write_batch(partials(0, 0))
    assert desk.backlog.waits
    desk.backlog.close()
    assert not desk.backlog.waits
    assert [str(one) for one in desk.watch.missing()] == [
        "talk.jsonl lacks 1 record (segment 0 of talk, 0.0 s to 0.5 s): No space left on device"
    ]


# The files themselves


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def watch(told: list[str]) -> OutputWatch:
    return OutputWatch(lambda event: told.append(event.sentence))


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are tried again at once."""
    monkeypatch.setattr(backlogs, "_RETRY_S", 0.0)


CUES = [Cue(2000 * number, 2000 * number + 1000, (f"Satz {number}",)) for number in range(4)]


def chunk(number: int) -> AudioChunk:
    return AudioChunk(stream="talk", start_s=number / 10, pcm=bytes([number + 1, 0]) * (SAMPLE_RATE // 10))


def translation(number: int) -> Translation:
    return Translation(
        stream="talk", segment=number, revision=0, is_final=True, source="It was", text="Es war",
        tokens=(1, 2), pieces=("Es", " war"), start_s=0.2, end_s=0.6, arrival_s=0.7, ready_s=0.9,
    )  # fmt: skip


FINALS = [caption for caption in captions() if caption.is_final]
#: Makes the record of a number from 0 to 3 that a sink of a step takes.
RECORDS: dict[Step, Callable[[int], Any]] = {
    "audio": chunk,
    "partials": partial,
    "sentences": partial,
    "translations": translation,
    "captions": FINALS.__getitem__,
    "cues": CUES.__getitem__,
    "records": lambda number: ErasureMeter("13a").record(FINALS[number]),
}
Opened = dict[str, tuple[Any, Callable[[int], Any]]]


def sinks(folder: Path, watch: OutputWatch, resume: Any = None) -> Opened:
    """Each sink that there is, opened, and how a record of it is made; ``resume`` is a state of each."""
    made = {one.name: one.make(folder / one.name, watch=watch) for one in SINKS.values()}
    opened = {
        name: sink.build_part("out", "part", resume and resume[name])
        for name, sink in made.items()
        if isinstance(sink, FileSink)
    }
    return {name: (part, RECORDS[SINKS[name].of]) for name, part in opened.items()}


def test_a_run_that_is_killed_and_resumed_leaves_the_file_of_an_unbroken_one(
    tmp_path: Path, watch: OutputWatch, told: list[str]
) -> None:
    whole, resumed = tmp_path / "whole", tmp_path / "resumed"
    states = {}
    for folder in (whole, resumed):
        folder.mkdir()
        for name, (part, make) in sinks(folder, watch).items():
            part.write_batch([make(0), make(1)])
            states[name] = part.snapshot()
            part.write_batch([make(2), make(3)])
            part.close()
    # A run has locked its files before it opens its sinks, which get them so.
    for name in states:
        watch.hold(resumed / name)
    for name, (part, make) in sinks(resumed, watch, states).items():
        part.write_batch([make(2), make(3)])
        assert told == []
        part.close()
        assert (whole / name).read_bytes() == (resumed / name).read_bytes() != b""


@pytest.mark.usefixtures("hurried")
def test_a_snapshot_counts_on_what_reached_the_disk_and_what_did_not_is_written_again(
    tmp_path: Path, watch: OutputWatch, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_file: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda file: synced.append(os.fstat(file).st_ino))
    for name, (part, make) in sinks(tmp_path, watch).items():
        path = tmp_path / name
        part.write_batch([make(0), make(1)])
        part.snapshot()
        part.snapshot()
        # Once: nothing came between the two.
        assert synced == [path.stat().st_ino]
        synced.clear()
        assert path.stat().st_mode & 0o111 == 0
        kept = path.read_bytes()
        part.write_batch([make(2), make(3)])
        whole = path.read_bytes()
        with monkeypatch.context() as disk:
            disk.setattr(os, "fsync", fail)
            part.snapshot()
        assert told[-1].startswith(f"{path} cannot be written: Input/output error")
        assert path.read_bytes() == kept
        part.snapshot()
        assert path.read_bytes() == whole
        part.close()
        synced.clear()


@pytest.mark.usefixtures("hurried")
def test_a_file_whose_folder_goes_and_comes_back_lacks_nothing(
    tmp_path: Path, watch: OutputWatch, told: list[str]
) -> None:
    whole, gone = tmp_path / "whole", tmp_path / "gone"
    whole.mkdir()
    for part, make in sinks(whole, watch).values():
        part.write_batch([make(number) for number in range(4)])
        part.close()
    gone.mkdir()
    parts = sinks(gone, watch)
    for name, (part, make) in parts.items():
        part.write_batch([make(0), make(1)])
        (gone / name).unlink()
    gone.rmdir()
    for part, make in parts.values():
        part.write_batch([make(2)])
        assert "No such file or directory; create its folder again" in told[-1]
        part.snapshot()
    gone.mkdir()
    for name, (part, make) in parts.items():
        part.write_batch([make(3)])
        assert told[-1] == f"{gone / name} can be written again; nothing is missing"
        assert part.snapshot().position == part._target.position
        assert (gone / name).read_bytes() == (whole / name).read_bytes()
        part.close()


@pytest.mark.parametrize(
    "lose", [Path.unlink, lambda path: os.truncate(path, 0), lambda path: os.truncate(path, 50)]
)
def test_what_was_on_the_disk_when_a_file_was_deleted_or_cut_short_is_missing(
    tmp_path: Path, watch: OutputWatch, told: list[str], lose: Callable[[Path], None]
) -> None:
    for name, (part, make) in sinks(tmp_path, watch).items():
        part.write_batch([make(0), make(1)])
        part.snapshot()
        lose(tmp_path / name)
        part.write_batch([make(2)])
        part.close()
        assert f"{name} was deleted or truncated and is started again: it lacks 2 records" in told[-1]
    assert [one.span.records for one in watch.missing()] == [2] * len(SINKS)
    assert validate(tmp_path / "partials", Partial) == 1
    assert (tmp_path / "srt").read_text().startswith("1\n00:00:04,000")
    assert (tmp_path / "vtt").read_text().startswith("WEBVTT\n\n00:00:04.000")
    sound, _ = soundfile.read(tmp_path / "audio", dtype="int16")
    assert sorted(set(sound[:3200])) == [0]
    assert np.array_equal(sound[3200:], np.full(1600, 3))


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize(
    ("put", "take_away", "said"),
    [
        (os.mkfifo, os.unlink, "nobody reads it; start a reader for it first"),
        (os.mkdir, os.rmdir, "Is a directory; remove the folder that is in its place"),
    ],
)
def test_what_is_no_file_in_the_place_of_one_holds_up_nobody_and_what_was_lost_is_named(
    tmp_path: Path,
    watch: OutputWatch,
    told: list[str],
    put: Callable[[Path], None],
    take_away: Callable[[Path], None],
    said: str,
) -> None:
    for name, (part, make) in sinks(tmp_path, watch).items():
        part.write_batch([make(0), make(1)])
        part.snapshot()
        (tmp_path / name).unlink()
        put(tmp_path / name)
        part.write_batch([make(2)])
        assert "cannot be written" in told[-1]
        assert name == "audio" or said in told[-1]
        take_away(tmp_path / name)
        part.write_batch([make(3)])
        part.close()
        assert told[-1] == f"{tmp_path / name} can be written again; it lacks {watch.missing()[-1].span}"
    assert [one.span.records for one in watch.missing()] == [2] * len(SINKS)


@pytest.mark.parametrize("is_readable", [True, False])
def test_a_file_that_somebody_put_in_the_place_is_continued_on_a_line_of_its_own(
    tmp_path: Path, watch: OutputWatch, monkeypatch: pytest.MonkeyPatch, *, is_readable: bool
) -> None:
    path = tmp_path / "out.jsonl"
    part = JsonlSink(path, watch=watch).build_part("out", "part", None)
    part.write_batch(partials(0, 1))
    part.snapshot()
    # As editors save.
    other = tmp_path / "other"
    other.write_bytes(path.read_bytes().rstrip())
    other.replace(path)

    def refuse(*_given: Any) -> Any:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    with monkeypatch.context() as refusing:
        if not is_readable:
            # Not by the mode of the file, which does not bind an administrator.
            refusing.setattr(Path, "open", refuse)
        part.write_batch(partials(2, 2))
    part.close()
    assert validate(path, Partial) == 3
    assert watch.missing() == []


@pytest.mark.usefixtures("hurried")
def test_a_pipe_whose_reader_left_waits_for_another_one(
    tmp_path: Path, watch: OutputWatch, told: list[str]
) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)

    def reader() -> BufferedReader:
        # The sink does not wait for it, so it must be there first.
        return os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb")

    with reader() as pipe:
        part = JsonlSink(path, watch=watch).build_part("out", "part", None)
        part.write_batch(partials(0, 0))
        read = [pipe.readline()]
    part.write_batch(partials(1, 1))
    assert "Broken pipe; start a reader for it again" in told[0]
    with reader() as pipe:
        while len(watch.missing()):
            part.write_batch([])
        part.write_batch(partials(2, 2))
        read += [pipe.readline() for _ in range(2)]
    part.close()
    assert [msgspec.json.decode(line, type=Partial).segment for line in read] == [0, 1, 2]


def test_a_device_without_room_is_told_once(watch: OutputWatch, told: list[str]) -> None:
    part = SubtitleSink(Path("/dev/full"), "vtt", watch=watch).build_part("out", "part", None)
    part.write_batch(CUES)
    part.close()
    assert len(told) == 1
    assert [str(one) for one in watch.missing()] == [
        "/dev/full lacks 4 records (0.0 s to 7.0 s): No space left on device"
    ]
