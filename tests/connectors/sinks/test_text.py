"""Finished sentences are written as plain text, and a resumed run goes on where the file was."""

from pathlib import Path

import pytest

from connectors.sinks.text import TextSink
from operators.subtitles.writer import Shown
from tests.subtitled import caption


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
    first.write_batch([caption("Guten", is_final=False), caption("Guten\nTag.", source="Good day.")])
    state = first.snapshot()
    first.write_batch([caption("Wie lost", source="How are")])
    first.close()
    second = TextSink(path, shown).build_part("out", "file", state)
    second.write_batch([caption("Wie geht es?", source="How are you?"), caption("", source="")])
    second.close()
    assert path.read_text() == text


@pytest.mark.parametrize(
    ("name", "shown", "text"),
    [
        ("talk.txt", "both", "[00:00:07] Good day.\n*Guten* Tag.\n\n[01:02:05] - No_\n1. Nein\n\n"),
        ("talk.md", "target", "[00:00:07] \\*Guten\\* Tag.\n\n[01:02:05] 1\\. Nein\n\n"),
        (
            "a.MD",
            "both",
            "> [00:00:07] Good day.\n\n\\*Guten\\* Tag.\n\n> [01:02:05] \\- No\\_\n\n1\\. Nein\n\n",
        ),
    ],
)
def test_sentences_tell_when_they_were_said_and_markdown_obeys_nothing_in_them(
    tmp_path: Path, name: str, shown: Shown, text: str
) -> None:
    file = TextSink(tmp_path / name, shown, times=True).build_part("out", "file", None)
    said = (("Good day.", "*Guten* Tag.", 7.9), ("- No_", "1. Nein", 3725.0), (" ", "", 3726.0))
    file.write_batch([caption(shown, start_s, source=source) for source, shown, start_s in said])
    file.close()
    assert (tmp_path / name).read_text() == text
