"""Finished sentences are written as plain text, and a resumed run goes on where the file was."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from connectors.sinks.text import TextSink
from operators.languages import language
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
        ("talk.txt", "target", "Sprecher 1: Eins.\nZwei.\nA*b -->: Drei.\nVier.\nSprecher 1: Fünf.\n"),
        (
            "talk.md",
            "source",
            "**Sprecher 1**: 1\n\n2\n\n**A\\*b --\\>**: 3\n\n4\n\n**Sprecher 1**: 5\n\n",
        ),
        ("a.txt", "both", "Sprecher 1: 1\nEins.\n\n2\nZwei.\n\nA*b -->: 3\nDrei.\n\n4\nVier.\n\n"
         "Sprecher 1: 5\nFünf.\n\n"),
    ],
)  # fmt: skip
def test_the_name_comes_where_another_one_begins_to_speak_also_in_a_resumed_run(
    tmp_path: Path, name: str, shown: Shown, text: str
) -> None:
    german = language("de")
    said = [("1", "Eins."), ("1", "Zwei."), ("A*b\n-->", "Drei."), ("", "Vier."), ("1", "Fünf.")]
    captions = [caption(one, source=f"{at}", speaker=who) for at, (who, one) in enumerate(said, 1)]
    state = None
    for one in captions:
        file = TextSink(tmp_path / name, shown, language_of=lambda _: german).build_part("out", "file", state)
        file.write_batch([replace(one, is_final=False, speaker="Niemand"), one])
        state = file.snapshot()
        file.write_batch([replace(one, speaker="Verloren")])
        file.close()
    (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[: state.size if state else 0])
    assert (tmp_path / name).read_text() == text


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
