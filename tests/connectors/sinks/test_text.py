"""Finished sentences are written as plain text, and a resumed run goes on where the file was."""

from pathlib import Path

import pytest

from connectors.sinks.text import TextSink
from operators.events import Caption
from operators.subtitles.writer import Shown


def caption(segment: int, source: str, shown: str, *, is_final: bool = True) -> Caption:
    return Caption(
        stream="talk", segment=segment, revision=0, is_final=is_final, source=source, shown=shown,
        withheld="", start_s=0.0, end_s=1.0, arrival_s=1.0, started_s=1.0, ready_s=1.0, shown_s=1.0,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        ("target", "Guten Tag.\nWie geht es?\n"),
        ("source", "Good day.\nHow are you?\n"),
        ("both", "Good day.\nGuten Tag.\n\nHow are you?\nWie geht es?\n\n"),
    ],
)
def test_sentences_are_lines_and_those_after_a_snapshot_are_written_once(
    tmp_path: Path, shown: Shown, text: str
) -> None:
    path = tmp_path / "talk.txt"
    first = TextSink(path, shown).open_file(None, None)
    first.begin()
    first.append(caption(0, "Good", "Guten", is_final=False))
    first.append(caption(0, "Good day.", "Guten\nTag."))
    position = first.position
    first.append(caption(1, "How are", "Wie lost"))
    first.close()

    second = TextSink(path, shown).open_file(position, None)
    second.append(caption(1, "How are you?", "Wie geht es?"))
    second.append(caption(2, "", ""))
    second.close()
    assert path.read_text() == text
