"""What is written of each room of a server."""

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import webvtt
from hypothesis import example, given
from hypothesis import strategies as st

from connectors.exports.room_files import RoomFiles, _RoomFile, file_name
from connectors.files.watch import OutputWatch
from connectors.jsonl.files import read_events
from operators.errors import OutputError
from operators.events import Caption
from operators.languages import Direction

GERMAN = Direction.of("English", "German")


def files(folder: Path, told: list[str] | None = None) -> tuple[RoomFiles, OutputWatch]:
    watch = OutputWatch(lambda event: (told if told is not None else []).append(event.sentence))
    one = RoomFiles(folder, watch)
    one.begin()
    return one, watch


def caption(
    stream: str, segment: int, shown: str, *, at_s: float, is_final: bool = True, **more: Any
) -> Caption:
    return Caption(
        stream=stream, segment=segment, revision=int(is_final), is_final=is_final, source="said", shown=shown,
        withheld="", start_s=at_s, end_s=at_s + 1.5, arrival_s=at_s + 1.6, ready_s=at_s + 1.7, **more,
    )  # fmt: skip


def cues(path: Path) -> list[tuple[str, str]]:
    return [(cue.start, cue.text) for cue in webvtt.read(str(path)).captions]


def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let files be tried again at once."""
    for module in ("connectors.files.backlog", "connectors.exports.room_files"):
        monkeypatch.setattr(f"{module}._RETRY_S", 0.0)


def test_each_room_gets_its_finals_at_once_and_its_subtitles_when_it_ends(tmp_path: Path) -> None:
    written, watch = files(tmp_path / "rooms")
    for room, began_s in (("hall.aa", 100.0), ("aula.bb", 200.0)):
        written.write(caption(room, 0, "Gu", at_s=began_s + 1, is_final=False), GERMAN, began_s)
        written.write(caption(room, 0, f"Guten Tag {room}", at_s=began_s + 1), GERMAN, began_s)
        [final] = read_events(tmp_path / "rooms" / f"{room}.jsonl", Caption)
        assert (final.shown, final.start_s, final.ready_s) == (f"Guten Tag {room}", 1.0, 2.7)
    written.end("hall.aa")
    assert cues(tmp_path / "rooms" / "hall.aa.vtt") == [("00:00:01.000", "Guten Tag hall.aa")]
    assert cues(tmp_path / "rooms" / "aula.bb.vtt") == []
    written.end_all()
    assert cues(tmp_path / "rooms" / "aula.bb.vtt") == [("00:00:01.000", "Guten Tag aula.bb")]
    # Of another worker, which had not ended yet.
    written.write(caption("aula.bb", 1, "Danke", at_s=210.0), GERMAN, 200.0)
    written.close()
    assert [one.shown for one in read_events(tmp_path / "rooms" / "aula.bb.jsonl", Caption)] == [
        "Guten Tag aula.bb",
        "Danke",
    ]
    assert len(cues(tmp_path / "rooms" / "aula.bb.vtt")) == 2
    assert watch.missing() == []


def test_each_language_of_a_room_has_files_of_its_own(tmp_path: Path) -> None:
    written, _ = files(tmp_path)
    for code, shown in (("de", "Guten Tag"), ("fr", "Bonjour")):
        direction = Direction.of("English", code)
        written.write(caption("hall.aa", 0, shown, at_s=1.0, language=code), direction, 0.0)
    written.end("hall.aa")
    assert cues(tmp_path / "hall.aa.de.vtt") == [("00:00:01.000", "Guten Tag")]
    assert cues(tmp_path / "hall.aa.fr.vtt") == [("00:00:01.000", "Bonjour")]
    assert read_events(tmp_path / "hall.aa.fr.jsonl", Caption)


def test_what_cannot_be_written_waits_and_is_written_later_also_when_the_room_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    written, watch = files(tmp_path, told)
    hurry(monkeypatch)

    def full(*_given: Any, **_options: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as broken:
        broken.setattr("connectors.files.output.os.open", full)
        written.write(caption("hall.aa", 0, "Guten Tag", at_s=1.0), GERMAN, 0.0)
        written.end("hall.aa")
        written.write(caption("aula.bb", 0, "Hallo", at_s=1.0), GERMAN, 0.0)
        assert [one.span.records for one in watch.missing()] == [1, 1, 1]
    assert any("No space left on device" in sentence for sentence in told)
    written.write(caption("aula.bb", 1, "Danke", at_s=5.0), GERMAN, 0.0)
    assert [one.shown for one in read_events(tmp_path / "hall.aa.jsonl", Caption)] == ["Guten Tag"]
    assert cues(tmp_path / "hall.aa.vtt") == [("00:00:01.000", "Guten Tag")]
    assert [one.shown for one in read_events(tmp_path / "aula.bb.jsonl", Caption)] == ["Hallo", "Danke"]
    assert watch.missing() == []
    written.close()


def test_a_folder_that_is_gone_or_replaced_by_a_file_does_not_end_the_captions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hurry(monkeypatch)
    told: list[str] = []
    written, watch = files(tmp_path / "rooms", told)
    (tmp_path / "rooms").rmdir()
    written.write(caption("hall.aa", 0, "Guten Tag", at_s=1.0), GERMAN, 0.0)
    (tmp_path / "rooms").write_text("")
    written.write(caption("aula.bb", 0, "Hallo", at_s=1.0), GERMAN, 0.0)
    assert any("create its folder again" in sentence for sentence in told)
    (tmp_path / "rooms").unlink()
    (tmp_path / "rooms").mkdir()
    written.end_all()
    for room, shown in (("hall.aa", "Guten Tag"), ("aula.bb", "Hallo")):
        assert [one.shown for one in read_events(tmp_path / "rooms" / f"{room}.jsonl", Caption)] == [shown]
    written.close()
    assert watch.missing() == []


def test_rooms_that_are_over_hold_no_files_and_are_not_remembered(tmp_path: Path) -> None:
    written, watch = files(tmp_path)
    written.write(caption("first.0", 0, "Hallo", at_s=1.0), GERMAN, 0.0)
    written.end("first.0")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for number in range(50):
        written.write(caption(f"hall.{number}", 0, "Hallo", at_s=1.0), GERMAN, 0.0)
        written.end(f"hall.{number}")
    assert len(list(Path("/proc/self/fd").iterdir())) <= before  # something else may be closed meanwhile
    assert len(watch._files) == 0
    written.close()


def test_rooms_that_wait_for_a_disk_are_tried_now_and_then_and_not_with_each_caption(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[_RoomFile] = []

    def is_written(file: _RoomFile) -> bool:
        tried.append(file)
        return False

    monkeypatch.setattr(_RoomFile, "is_written", is_written)
    now_s = [100.0]
    written = RoomFiles(tmp_path / "rooms", OutputWatch(lambda _event: None), lambda: now_s[0])
    for number in range(3):
        written.write(caption(f"hall.{number}", 0, "Hallo", at_s=1.0), GERMAN, 0.0)
        written.end(f"hall.{number}")
    tried.clear()
    for segment in range(100):
        written.write(caption("aula.bb", segment, "Danke", at_s=5.0), GERMAN, 0.0)
    assert tried == []
    now_s[0] += 3.0
    written.write(caption("aula.bb", 100, "Danke", at_s=5.0), GERMAN, 0.0)
    assert len(tried) == 3
    written.close()


@pytest.mark.parametrize("put", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/null")])
def test_what_is_no_file_under_the_name_of_one_holds_up_no_room(
    tmp_path: Path, put: Callable[[Path], None]
) -> None:
    told: list[str] = []
    written, watch = files(tmp_path, told)
    put(tmp_path / "hall.aa.jsonl")
    written.write(caption("hall.aa", 0, "Guten Tag", at_s=1.0), GERMAN, 0.0)
    written.write(caption("aula.bb", 0, "Hallo", at_s=1.0), GERMAN, 0.0)
    assert any("hall.aa.jsonl cannot be written: it is no file" in sentence for sentence in told)
    written.close()
    assert [one.shown for one in read_events(tmp_path / "aula.bb.jsonl", Caption)] == ["Hallo"]
    assert cues(tmp_path / "hall.aa.vtt") == [("00:00:01.000", "Guten Tag")]
    assert [one.span.records for one in watch.missing()] == [1]


def test_workers_write_at_the_same_time(tmp_path: Path) -> None:
    written, _ = files(tmp_path)

    def speak(room: str) -> None:
        for segment in range(50):
            written.write(caption(room, segment, f"{room} {segment}", at_s=3.0 * segment), GERMAN, 0.0)
        written.end(room)

    workers = [threading.Thread(target=speak, args=(f"hall.{number}",)) for number in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for number in range(4):
        shown = [one.shown for one in read_events(tmp_path / f"hall.{number}.jsonl", Caption)]
        assert shown == [f"hall.{number} {segment}" for segment in range(50)]
        assert len(cues(tmp_path / f"hall.{number}.vtt")) == 50
    written.close()


@given(st.text(max_size=100), st.text("0123456789abcdef", min_size=6, max_size=6))
@example("../../etc/passwd", "abcdef")
@example("..", "abcdef")
@example("漢" * 80, "abcdef")
@example(". ", "abcdef")
def test_any_name_of_a_room_is_the_name_of_a_file_in_the_folder(name: str, unique: str) -> None:
    found = file_name(f"{name}.{unique}")
    assert found.endswith(f".{unique}")
    assert Path(found).name == found
    assert not found.startswith(".")
    assert found.isprintable()
    assert len(f"{found}.jsonl".encode()) <= 255


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="this folder cannot be created"):
        RoomFiles(tmp_path / "file" / "rooms", OutputWatch(print)).begin()
