"""Captions of a talk that come at a pace, to be replayed without any model."""

from pathlib import Path

import msgspec

from operators.events import Caption

#: When the last caption of an endless talk comes.
_NEVER_S = 1e5


def talk(path: Path, *, seconds: float, segments: int = 40, is_endless: bool = False) -> int:
    """Write a talk of one caption a segment, all of them in so many seconds; the number of segments.

    The last one of an endless talk, which is one more, comes when nobody waits for it any more.
    """
    with path.open("wb") as lines:
        for segment in range(segments + is_endless):
            at_s = seconds * segment / segments if segment < segments else _NEVER_S
            caption = Caption(
                stream="talk", segment=segment, revision=0, is_final=True, source="Good morning",
                shown=f"Guten Morgen, meine Damen und Herren {segment}", withheld="", start_s=float(segment),
                end_s=segment + 0.8, arrival_s=at_s, ready_s=at_s,
            )  # fmt: skip
            lines.write(msgspec.json.encode(caption) + b"\n")
    return segments
