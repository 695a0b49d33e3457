"""Finished sentences are written as plain text, and a resumed run goes on where the file was."""

from pathlib import Path

import pytest

from connectors.sinks.text import TextSink
from operators.events import Caption
from operators.subtitles.writer import Shown


def caption(segment: int, source: str, shown: str, *, is_final: bool = True, start_s: float = 0.0) -> Caption:
    return Caption(
        stream="talk", segment=segment, revision=0, is_final=is_final, source=source, shown=shown,
        withheld="", start_s=start_s, end_s=9e9, arrival_s=1.0, started_s=1.0, ready_s=1.0, shown_s=1.0,
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
    first = TextSink(path, shown).build_part("out", "file", None)
    first.write_batch([caption(0, "Good", "Guten", is_final=False), caption(0, "Good day.", "Guten\nTag.")])
    state = first.snapshot()
    first.write_batch([caption(1, "How are", "Wie lost")])
    first.close()

    second = TextSink(path, shown).build_part("out", "file", state)
    second.write_batch([caption(1, "How are you?", "Wie geht es?"), caption(2, "", "")])
    second.close()
    assert path.read_text() == text


@pytest.mark.parametrize(
    ("name", "shown", "text"),
    [
        ("talk.txt", "target", "[00:00:07] *Guten* Tag.\n[01:02:05] 1. Nein\n"),
        ("talk.txt", "both", "[00:00:07] Good day.\n*Guten* Tag.\n\n[01:02:05] - No_\n1. Nein\n\n"),
        ("talk.md", "target", "[00:00:07] \\*Guten\\* Tag.\n\n[01:02:05] 1\\. Nein\n\n"),
        (
            "talk.MD",
            "both",
            "> [00:00:07] Good day.\n\n\\*Guten\\* Tag.\n\n> [01:02:05] \\- No\\_\n\n1\\. Nein\n\n",
        ),
    ],
)
def test_sentences_tell_when_they_were_said_and_markdown_obeys_nothing_in_them(
    tmp_path: Path, name: str, shown: Shown, text: str
) -> None:
    file = TextSink(tmp_path / name, shown, times=True).build_part("out", "file", None)
    file.write_batch(
        [
            caption(0, "Good day.", "*Guten* Tag.", start_s=7.9),
            caption(1, "- No_", "1. Nein", start_s=3725.0),
            caption(2, " ", "", start_s=3726.0),
        ]
    )
    file.close()
    assert (tmp_path / name).read_text() == text
