"""Captions of a talk that come at a pace, to be replayed without any model."""

from pathlib import Path

import msgspec

from operators.events import Caption


def talk(path: Path, *, seconds: float, segments: int = 40) -> int:
    """Write a talk of one caption a segment, all of them in so many seconds; the number of segments."""
    with path.open("wb") as lines:
        for segment in range(segments):
            at_s = seconds * segment / segments
            caption = Caption(
                stream="talk", segment=segment, revision=0, is_final=True, source="Good morning",
                shown=f"Guten Morgen, meine Damen und Herren {segment}", withheld="", start_s=float(segment),
                end_s=segment + 0.8, arrival_s=at_s, ready_s=at_s,
            )  # fmt: skip
            lines.write(msgspec.json.encode(caption) + b"\n")
    return segments
