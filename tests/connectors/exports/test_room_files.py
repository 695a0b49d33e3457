"""What is written of each room of a server."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import webvtt
from hypothesis import example, given
from hypothesis import strategies as st

from connectors.exports.room_files import RoomFiles, file_name
from connectors.files.watch import OutputWatch
from connectors.jsonl.files import read_events
from operators.events import Caption
from operators.languages import Direction
from tests import subtitled

GERMAN = Direction.of("English", "German")


def files(folder: Path) -> tuple[RoomFiles, OutputWatch]:
    watch = OutputWatch(lambda _: None)
    one = RoomFiles(folder, watch)
    one.begin()
    return one, watch


def caption(stream: str, segment: int, shown: str, *, at_s: float, **more: Any) -> Caption:
    return subtitled.caption(shown, at_s, at_s + 1.5, stream=stream, segment=segment, **more)


def cues(path: Path) -> list[tuple[str, str]]:
    return [(cue.start, cue.text) for cue in webvtt.read(str(path)).captions]


def test_each_room_gets_its_finals_at_once_and_its_subtitles_when_it_ends(tmp_path: Path) -> None:
    written, watch = files(tmp_path)
    for room, began_s in (("hall.aa", 100.0), ("aula.bb", 200.0)):
        written.write(caption(room, 0, "Gu", at_s=began_s + 1, is_final=False), GERMAN, began_s)
        written.write(caption(room, 0, f"Guten Tag {room}", at_s=began_s + 1), GERMAN, began_s)
        [final] = read_events(tmp_path / f"{room}.jsonl", Caption)
        assert (final.shown, final.start_s, final.ready_s) == (f"Guten Tag {room}", 1.0, 2.5)
    written.end("hall.aa")
    assert cues(tmp_path / "hall.aa.vtt") == [("00:00:01.000", "Guten Tag hall.aa")]
    assert not (tmp_path / "aula.bb.vtt").exists()
    written.close()
    assert cues(tmp_path / "aula.bb.vtt") == [("00:00:01.000", "Guten Tag aula.bb")]
    # Of another worker, which had not ended yet.
    written.write(caption("aula.bb", 1, "Danke", at_s=210.0), GERMAN, 200.0)
    written.close()
    finals = [one.shown for one in read_events(tmp_path / "aula.bb.jsonl", Caption)]
    assert finals == ["Guten Tag aula.bb", "Danke"]
    assert len(cues(tmp_path / "aula.bb.vtt")) == 2
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


def test_rooms_that_are_over_hold_no_files_and_are_not_remembered(tmp_path: Path) -> None:
    written, _ = files(tmp_path)
    written.write(caption("first.0", 0, "Hallo", at_s=1.0), GERMAN, 0.0)
    written.end("first.0")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for number in range(50):
        written.write(caption(f"hall.{number}", 0, "Hallo", at_s=1.0), GERMAN, 0.0)
        written.end(f"hall.{number}")
    assert len(list(Path("/proc/self/fd").iterdir())) <= before  # something else may be closed meanwhile
    written.close()


@pytest.mark.parametrize("put", [os.mkfifo, os.mkdir])
def test_what_cannot_be_written_is_counted_and_holds_up_no_room(
    tmp_path: Path, put: Callable[[Path], None]
) -> None:
    written, watch = files(tmp_path)
    put(tmp_path / "hall.aa.jsonl")
    written.write(caption("hall.aa", 0, "Guten Tag", at_s=1.0), GERMAN, 0.0)
    written.write(caption("aula.bb", 0, "Hallo", at_s=1.0), GERMAN, 0.0)
    written.close()
    assert [one.shown for one in read_events(tmp_path / "aula.bb.jsonl", Caption)] == ["Hallo"]
    assert cues(tmp_path / "hall.aa.vtt") == [("00:00:01.000", "Guten Tag")]
    assert [(Path(one.path).name, one.records) for one in watch.missing()] == [("hall.aa.jsonl", 1)]


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
