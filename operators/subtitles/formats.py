"""Cues in the two file formats, SubRip and WebVTT; recognised text never becomes markup."""

from operators.subtitles.timing import Cue

#: The beginning of a WebVTT file; a SubRip file has none.
VTT_HEADER = "WEBVTT\n\n"

# SubRip has no escapes, and players obey HTML and SSA tags: these characters look alike and have no meaning.
_SRT_HARMLESS = str.maketrans({"<": "‹", ">": "›", "{": "(", "}": ")", "\\": "∖"})
_VTT_ESCAPED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def srt(cue: Cue, number: int) -> str:
    """A cue of a SubRip file, with the blank line that ends it; numbers count from 1."""
    text = "\n".join(cue.lines).translate(_SRT_HARMLESS)
    return f"{number}\n{_time(cue.start_ms, ',')} --> {_time(cue.end_ms, ',')}\n{text}\n\n"


def vtt(cue: Cue) -> str:
    """A cue of a WebVTT file, with the blank line that ends it."""
    text = "\n".join(cue.lines).translate(_VTT_ESCAPED)
    return f"{_time(cue.start_ms, '.')} --> {_time(cue.end_ms, '.')}\n{text}\n\n"


def _time(at_ms: int, point: str) -> str:
    seconds, thousandths = divmod(at_ms, 1000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{hour:02}:{minute:02}:{second:02}{point}{thousandths:03}"
