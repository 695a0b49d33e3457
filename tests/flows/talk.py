"""Captions of a short talk in German, with the revisions that a recogniser brings, and other speech."""

from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from operators.events import Caption, Event, Partial

REFERENCES = (
    "Guten Morgen, meine Damen und Herren, und willkommen im Museum.",
    "Die Führung beginnt um zehn Uhr in der großen Halle.",
    "Bitte lassen Sie Ihre Taschen und Mäntel an der Garderobe.",
    "Das Fotografieren ist in allen Räumen erlaubt, aber ohne Blitz.",
)
#: Of each segment, what was shown update by update.
SHOWN = (
    (
        "Guten Morgen",
        "Guten Morgen, jeder",
        "Guten Morgen, meine Damen und",
        "Guten Morgen, meine Damen und Herren, willkommen im Museum.",
    ),
    ("Die Tür", "Die Führung beginnt", "Die Führung beginnt um zehn Uhr in der Halle."),
    (
        "Bitte gehen",
        "Bitte lassen Sie Ihre Taschen",
        "Bitte lassen Sie Ihre Taschen",
        "Bitte lassen Sie Ihre Mäntel und Ihre großen Taschen an der Garderobe.",
    ),
    (
        "",
        "Das Fotografieren ist",
        "Fotografieren ist in allen Räumen",
        "Fotografieren ist in allen Räumen erlaubt, aber ohne Blitz.",
    ),
)


def captions(
    shown: Sequence[Sequence[str]] = SHOWN,
    *,
    stream: str = "talk",
    step_s: float = 0.75,
    model_s: float = 0.3,
    draw_s: float | None = 0.05,
) -> list[Caption]:
    """Captions that come every ``step_s`` seconds, each shown some time after its speech."""
    made, number = [], count(1)
    for segment, texts in enumerate(shown):
        start_s: float | None = None
        for revision, text in enumerate(texts):
            end_s = next(number) * step_s
            start_s = end_s - step_s if start_s is None else start_s
            ready_s = end_s + 0.1 + model_s
            made.append(
                Caption(
                    stream=stream,
                    segment=segment,
                    revision=revision,
                    is_final=revision == len(texts) - 1,
                    source="",
                    shown=text,
                    withheld="",
                    start_s=start_s,
                    end_s=end_s,
                    arrival_s=end_s + 0.1,
                    started_s=end_s + 0.1,
                    ready_s=ready_s,
                    shown_s=None if draw_s is None else ready_s + draw_s,
                    mask_k=3,
                )
            )
    return made


def partials(
    texts: Sequence[Sequence[str]], *, stream: str = "talk", length_s: float = 9.0, is_sentence: bool = False
) -> list[Partial]:
    """Segments ``length_s`` apart, of which each grows by an update a second and ends with its last text."""
    return [
        Partial(
            stream=stream, segment=segment, revision=revision, is_final=revision == len(updates) - 1,
            text=text, start_s=segment * length_s, end_s=segment * length_s + revision + 1,
            arrival_s=segment * length_s + revision + 1, is_sentence=is_sentence,
        )
        for segment, updates in enumerate(texts)
        for revision, text in enumerate(updates)
    ]  # fmt: skip


def write(path: Path, events: Sequence[Event]) -> Path:
    path.write_bytes(msgspec.json.Encoder().encode_lines(events))
    return path


def read(path: Path) -> list[dict[str, Any]]:
    return [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]


#: When the last caption of an endless talk comes.
_NEVER_S = 1e5


def write_paced_talk(path: Path, *, seconds: float, segments: int = 40, is_endless: bool = False) -> int:
    """Write a talk with one caption per segment within ``seconds``; returns the number of segments.

    An endless talk has one more segment, which comes after the end of any test.
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
