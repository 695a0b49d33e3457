"""A segment as text: each update a row, marked with what came, what stays, and what the next one erases."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from flows.pages.report.gather import Detail, Moment
from flows.pages.report.roll import Frame, place_of
from flows.pages.svg import value_of
from operators.metrics.lifespans import Marks, marks
from operators.prefix import common_prefix
from operators.text_layout import cleaned


class Piece(NamedTuple):
    """Neighbouring tokens of which the same is to be said."""

    #: White space before it, which nothing is said of.
    space: str
    text: str
    #: It was not there before this update.
    is_new: bool
    #: The next update erases it.
    is_erased: bool
    #: No later update erases it.
    is_settled: bool


class UpdateRow(NamedTuple):
    """One update."""

    revision: int
    #: Where it is in the picture, from the left.
    x: str
    #: On the stream's clock, and since the segment's begin; empty in an erasure log.
    at: str
    since: str
    erased: int
    length: int
    pieces: tuple[Piece, ...]
    withheld: tuple[str, str]
    #: Words of the recogniser that it had said before, and those after them.
    source_kept: str
    source_new: str


def rows(detail: Detail, within: Frame) -> list[UpdateRow]:
    """The updates of a segment that are drawn, beside the picture ``within`` that frame."""
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
    """The text of one update, cut wherever something else is to be said of it."""
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
    """A text from outside without what would order a browser about, and the space before it apart."""
    return " " if text[:1].isspace() else "", cleaned(text)
