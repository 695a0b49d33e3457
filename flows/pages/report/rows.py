"""A segment as text: one row per update, which marks new, final and soon erased parts."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from flows.pages.report.gather import Detail, Moment
from flows.pages.report.roll import Frame, place_of
from flows.pages.svg import value_of
from operators.metrics.lifespans import Marks, marks
from operators.text import cleaned, common_prefix


class Piece(NamedTuple):
    """Neighbouring tokens with the same marks."""

    #: White space before it, which is not marked.
    space: str
    text: str
    #: Whether this update added it.
    is_new: bool
    #: Whether the next update erases it.
    is_erased: bool
    #: Whether no later update erases it.
    is_settled: bool


class UpdateRow(NamedTuple):
    """One update."""

    revision: int
    #: Its horizontal position in the picture.
    x: str
    #: Its time on the stream's clock, and since the beginning of the segment; empty in an erasure log.
    at: str
    since: str
    erased: int
    length: int
    pieces: tuple[Piece, ...]
    withheld: tuple[str, str]
    #: The recognised words that were there before, and those after them.
    source_kept: str
    source_new: str


def rows(detail: Detail, within: Frame) -> list[UpdateRow]:
    """The rows of the drawn updates of a segment, next to the picture with the frame ``within``."""
    moments = list(detail.moments)
    made, heard = [], list[str]()
    marked = marks([moment.shown for moment in moments])
    for number, (moment, mark) in enumerate(zip(moments, marked, strict=True)):
        words = moment.source.split()
        kept = common_prefix(heard, words)
        heard = words
        made.append(
            UpdateRow(
                revision=moment.revision,
                x=value_of(within.across.at(place_of(moment, number, within))),
                at="" if moment.at_s is None else f"{moment.at_s:.1f} s",
                since=_since(moment, within),
                erased=moment.shown.erased,
                length=moment.shown.length,
                pieces=pieces(moment.tokens or [], mark),
                withheld=_safe(moment.withheld),
                source_kept=cleaned(" ".join(words[:kept])),
                source_new=cleaned(" ".join(words[kept:])),
            )
        )
    return made


def pieces(tokens: Sequence[str], mark: Marks) -> tuple[Piece, ...]:
    """The text of one update, split where the marks change."""
    cuts = sorted({0, *(min(place, len(tokens)) for place in mark), len(tokens)})
    return tuple(
        Piece(
            *_safe("".join(tokens[first:end])),
            is_new=first >= mark.kept,
            is_erased=first >= mark.stands,
            is_settled=first < mark.settled,
        )
        for first, end in pairwise(cuts)
    )


def _since(moment: Moment, within: Frame) -> str:
    return "" if moment.at_s is None else f"+{moment.at_s - within.origin:.1f} s"


def _safe(text: str) -> tuple[str, str]:
    """A text from outside without control characters for a browser, and separately the space before it."""
    return " " if text[:1].isspace() else "", cleaned(text)
