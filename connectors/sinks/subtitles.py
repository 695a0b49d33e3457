"""Writes cues to subtitle files, which are complete and valid at any time."""

import re
from functools import partial
from pathlib import Path
from typing import Literal

from connectors.files.sink import FileSink
from connectors.files.watch import OutputWatch
from connectors.sinks.part import SinkPart
from operators.subtitles.timing import Cue

#: The beginning of a WebVTT file; a SubRip file has none.
VTT_HEADER = "WEBVTT\n\n"

# SubRip has no escapes, and players interpret HTML and SSA tags: these look alike and have no meaning.
_SRT_HARMLESS = str.maketrans({"<": "‹", ">": "›", "{": "(", "}": ")", "\\": "∖"})
_VTT_ESCAPED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def srt(cue: Cue, number: int) -> str:
    """A cue of a SubRip file, with the blank line that ends it; numbers count from 1."""
    text = "\n".join(cue.lines).translate(_SRT_HARMLESS)
    if cue.is_turn:
        # After the mark that gives the line its direction.
        text = re.sub(r"\A[\u202a\u202b]?", r"\g<0>- ", text)
    return f"{number}\n{_time(cue.start_ms, ',')} --> {_time(cue.end_ms, ',')}\n{text}\n\n"


def vtt(cue: Cue) -> str:
    """A cue of a WebVTT file, with the blank line that ends it."""
    text = "\n".join(cue.lines).translate(_VTT_ESCAPED)
    if cue.speaker:
        text = f"<v {cue.speaker.translate(_VTT_ESCAPED)}>{text}"
    return f"{_time(cue.start_ms, '.')} --> {_time(cue.end_ms, '.')}\n{text}\n\n"


def vtt_cue(cue: Cue, _number: int) -> bytes:
    return vtt(cue).encode()


def _time(at_ms: int, point: str) -> str:
    seconds, thousandths = divmod(at_ms, 1000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{hour:02}:{minute:02}:{second:02}{point}{thousandths:03}"


Format = Literal["srt", "vtt"]


class SubtitleSink(FileSink[Cue]):
    """Appends each cue in UTF-8 without a byte order mark, with LF line ends.

    A cue never changes later; a WebVTT file has its header from the beginning.

    Delivery: exactly once with recovery into a regular file, as for `FileSink`.

    Example:
        >>> from bytewax import operators as op
        >>> from bytewax.dataflow import Dataflow
        >>> from bytewax.testing import run_main
        >>> from pathlib import Path
        >>> from connectors import JsonlSource, SubtitleSink
        >>> from operators import Caption, subtitle
        >>> from operators.languages import Direction
        >>> flow = Dataflow("example")
        >>> captions = op.input("in", flow, JsonlSource(Path("captions.jsonl"), Caption))
        >>> cues = subtitle("subtitle", captions, "target", Direction.of("English", "German"))
        >>> op.output("out", cues, SubtitleSink(Path("talk.vtt"), "vtt"))
        >>> run_main(flow)
        >>> Path("talk.vtt").read_text()[:6]
        'WEBVTT'
    """

    def __init__(self, path: Path, kind: Format, *, watch: OutputWatch | None = None) -> None:
        if kind == "srt":
            super().__init__(path, lambda cue, number: srt(cue, number).encode(), watch=watch)
        else:
            super().__init__(path, vtt_cue, header=VTT_HEADER.encode(), watch=watch)


srt_part = SinkPart("srt", partial(SubtitleSink, kind="srt"), "cues", shows=True)
vtt_part = SinkPart("vtt", partial(SubtitleSink, kind="vtt"), "cues", header=VTT_HEADER, shows=True)
