"""Subtitle files: whole at every moment, and the same after a crash as without one."""

from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import srt as srt_reader
import webvtt
from hypothesis import given

from connectors.sinks.subtitles import VTT_HEADER, Format, SubtitleSink, srt, vtt
from operators.events import Caption
from operators.languages import Direction
from operators.subtitles.timing import Cue
from operators.subtitles.writer import SubtitleWriter
from tests.subtitled import any_captions

MS = timedelta(milliseconds=1)
ESCAPED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


@pytest.mark.parametrize(
    ("text", "in_srt", "in_vtt"),
    [
        ("<i>a</i>", "‹i›a‹/i›", "&lt;i&gt;a&lt;/i&gt;"),
        ("1 --> 2", "1 --› 2", "1 --&gt; 2"),
        ("Q&amp;A", "Q&amp;A", "Q&amp;amp;A"),
        (r"{\an8}top\Nnext", "(∖an8)top∖Nnext", r"{\an8}top\Nnext"),
    ],
)
def test_recognised_text_is_never_markup(text: str, in_srt: str, in_vtt: str) -> None:
    assert srt(Cue(0, 1000, (text,)), 1).splitlines()[2] == in_srt
    assert vtt(Cue(0, 1000, (text,))).splitlines()[1] == in_vtt


@given(any_captions)
def test_readers_find_the_cues_that_were_written_after_each_of_them(captions: list[Caption]) -> None:
    writer = SubtitleWriter("target", Direction.of("en", "de"))
    cues = writer.take(captions) + writer.release()
    as_srt, as_vtt = "", VTT_HEADER
    for number, cue in enumerate(cues, 1):
        as_srt += srt(cue, number)
        as_vtt += vtt(cue)
    assert "\n\n\n" not in as_srt + as_vtt
    subtitles = list(srt_reader.parse(as_srt, ignore_errors=False))
    assert [one.index for one in subtitles] == list(range(1, len(cues) + 1))
    times = [(one.start / MS, one.end / MS) for one in subtitles]
    assert times == [(cue.start_ms, cue.end_ms) for cue in cues]
    assert [len(one.content.split("\n")) for one in subtitles] == [len(cue.lines) for cue in cues]
    read = webvtt.from_buffer(StringIO(as_vtt)).captions
    assert [one.text for one in read] == ["\n".join(cue.lines).translate(ESCAPED) for cue in cues]
    assert [one.voice or "" for one in read] == [cue.speaker.translate(ESCAPED) for cue in cues]


def test_a_change_of_speaker_has_a_dash_in_srt_and_in_vtt_every_cue_has_its_name() -> None:
    (one, two) = (Cue(0, 1000, (line, "b"), "Ben <i> &", is_turn=True) for line in ("a", "\u202bא\u202c"))
    assert srt(one, 1).splitlines()[2:4] == ["- a", "b"]
    assert srt(two, 1).splitlines()[2] == "\u202b- א\u202c", "on the side where the line begins"
    assert vtt(one).splitlines()[1:3] == ["<v Ben &lt;i&gt; &amp;>a", "b"]


def test_cues_have_times_of_any_length() -> None:
    cue = Cue(1, 360_000_000, ("one", "two"))
    assert srt(cue, 7) == "7\n00:00:00,001 --> 100:00:00,000\none\ntwo\n\n"
    assert vtt(cue) == "00:00:00.001 --> 100:00:00.000\none\ntwo\n\n"


def cues_in(path: Path) -> int:
    """How many cues a reader of its format finds in a file that must be valid."""
    if path.suffix == ".vtt":
        return len(webvtt.read(str(path)).captions)
    return len(list(srt_reader.parse(path.read_text(encoding="utf-8"), ignore_errors=False)))


@pytest.mark.parametrize("kind", ["srt", "vtt"])
def test_the_file_is_valid_before_and_after_every_write(tmp_path: Path, kind: Format) -> None:
    path = tmp_path / f"out.{kind}"
    path.write_text("what was there before")
    part: Any = SubtitleSink(path, kind).build_part("out", "part", None)
    assert path.read_bytes() == (b"WEBVTT\n\n" if kind == "vtt" else b"")
    for number in range(1, 6):
        part.write_batch([Cue(number * 2000, number * 2000 + 1500, ("ein", f"<b> & {number}"))])
        assert cues_in(path) == number
    part.write_batch([])
    part.close()
    assert cues_in(path) == 5
