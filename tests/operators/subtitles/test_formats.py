"""The two file formats, read back by other people's readers."""

from datetime import timedelta
from io import StringIO

import pytest
import srt as srt_reader
import webvtt
from hypothesis import given

from operators.events import Caption
from operators.subtitles.formats import VTT_HEADER, srt, vtt
from operators.subtitles.timing import Cue
from operators.subtitles.writer import Columns, SubtitleWriter
from tests.subtitled import any_captions

MS = timedelta(milliseconds=1)
ESCAPED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def test_a_cue_of_subrip() -> None:
    assert srt(Cue(0, 3_723_004, ("one", "two")), 7) == "7\n00:00:00,000 --> 01:02:03,004\none\ntwo\n\n"


def test_a_cue_of_webvtt() -> None:
    assert vtt(Cue(1, 360_000_000, ("one", "two"))) == "00:00:00.001 --> 100:00:00.000\none\ntwo\n\n"


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
    writer = SubtitleWriter("target", Columns())
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
    assert [one.lines for one in webvtt.from_buffer(StringIO(as_vtt)).captions] == [
        [line.translate(ESCAPED) for line in cue.lines] for cue in cues
    ]
