"""Selects the segments to draw; those of two runs are paired."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import sqrt
from typing import NamedTuple

from markupsafe import Markup

from flows.pages.drawing import line, rect, tag, value_of
from flows.pages.report.reading import Detail, Gathered, Moment
from flows.pages.report.roll import Frame, frame, place_of, roll
from flows.pages.table import snippet
from operators.metrics.lifespans import Marks, marks
from operators.metrics.report import Report, SegmentFigures
from operators.text import cleaned, common_prefix

_HEIGHT, _STEP, _MAX_WIDTH = 20.0, 6.0, 240.0


def spark(detail: Detail, high: int, number: int) -> Markup:
    """The strip of one segment; ``high`` is the value of the highest bar of all strips."""
    step = min(_STEP, _MAX_WIDTH / len(detail.moments))
    width = step * len(detail.moments)
    parts = [line(0, _HEIGHT - 0.5, width, _HEIGHT - 0.5, class_="base")]
    for place, moment in enumerate(detail.moments):
        if moment.shown.erased:
            # The square root: one update that erases a whole sentence must not make all others look alike.
            height = max(2.0, (_HEIGHT - 1) * sqrt(moment.shown.erased / max(1, high)))
            x = place * step + 0.15 * step
            parts.append(rect(x, _HEIGHT - height, 0.7 * step, height, class_="shown"))
    return tag(
        "svg",
        Markup("").join(parts),
        viewBox=f"0 0 {width:g} {_HEIGHT:g}",
        width=width,
        height=_HEIGHT,
        class_=f"spark run{number}",
        # The text next to it says what it shows.
        aria_hidden="true",
    )


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

    #: Its horizontal position in the picture.
    x: str
    #: Its time on the stream's clock, and since the beginning of the segment; empty in an erasure log.
    at: str
    since: str
    erased: int
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
                x=value_of(within.across.at(place_of(moment, number, within))),
                at="" if moment.at_s is None else f"{moment.at_s:.1f} s",
                since=_since(moment, within),
                erased=moment.shown.erased,
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


#: Maximum number of drawn segments, and of their characters together.
MAX_DRAWN, MAX_CHARACTERS = 150, 2_500_000

Key = tuple[str, int]


class Pair(NamedTuple):
    """A segment in each of the runs; None if a run lacks it or has not finished it."""

    figures: tuple[SegmentFigures | None, ...]
    name: str

    @property
    def any(self) -> SegmentFigures:
        """The segment of the first run that has it."""
        return next(one for one in self.figures if one is not None)

    @property
    def difference(self) -> int | None:
        """How many more tokens the second run erased than the first; None if one lacks the segment."""
        if len(self.figures) < 2:
            return None
        before, after = self.figures
        return None if before is None or after is None else after.erased - before.erased


class Drawn(NamedTuple):
    """The drawing of a segment of one run."""

    name: str
    figures: SegmentFigures
    picture: Markup
    rows: list[UpdateRow]
    #: Number of updates before the first one that is drawn.
    left_out: int


class SegmentDetail(NamedTuple):
    """A segment in detail."""

    id: str
    title: str
    words: str
    verdict: str
    #: For each run, its erasures as a strip of bars.
    sparks: tuple[Markup | None, ...]
    runs: tuple[Drawn | None, ...]


def matched(reports: Sequence[Report]) -> list[Pair]:
    """The finished segments of all runs, paired by stream and number; by number if each has one stream.

    Sorted by the number of shown tokens that were erased, most first.
    """
    alone = all(len(report.streams) == 1 for report in reports)
    found: dict[Key, list[SegmentFigures | None]] = {}
    for place, report in enumerate(reports):
        for one in report.segments:
            key = ("" if alone else one.stream, one.segment)
            found.setdefault(key, [None] * len(reports))[place] = one
    several = any(len(report.streams) > 1 for report in reports)
    pairs = [
        Pair(tuple(one), f"{snippet(stream, 24)} {segment}" if several or not alone else str(segment))
        for (stream, segment), one in found.items()
    ]
    return sorted(pairs, key=_flicker, reverse=True)


def _flicker(pair: Pair) -> tuple[int, float, float]:
    known = [one for one in pair.figures if one is not None]
    return (
        max(one.erased for one in known),
        max(one.ne_shown for one in known),
        max(one.ne_raw for one in known),
    )


def opened(pairs: Sequence[Pair], runs: Sequence[Gathered], names: Sequence[str]) -> dict[int, SegmentDetail]:
    """The drawn segments, by their index in ``pairs``: as many of the first ones as fit."""
    wanted = pairs[:MAX_DRAWN]
    details = [
        run.details(
            {(one.stream, one.segment) for pair in wanted if (one := pair.figures[place]) is not None}
        )
        for place, run in enumerate(runs)
    ]
    erased = [moment.shown.erased for run in details for one in run.values() for moment in one.moments]
    made, room = dict[int, SegmentDetail](), MAX_CHARACTERS
    for place, pair in enumerate(wanted):
        own = [_detail(one, of_run) for one, of_run in zip(pair.figures, details, strict=True)]
        characters = sum(detail.characters for detail in own if detail is not None)
        if characters > room or any(detail is not None and detail.is_too_long for detail in own):
            continue
        room -= characters
        made[place] = _opened(f"segment-{place}", pair, own, names, max(erased))
    return made


def _detail(one: SegmentFigures | None, details: Mapping[Key, Detail]) -> Detail | None:
    return None if one is None else details.get((one.stream, one.segment))


def _opened(
    id_: str, pair: Pair, details: Sequence[Detail | None], names: Sequence[str], high: int
) -> SegmentDetail:
    within = frame([detail for detail in details if detail is not None])
    drawn = tuple(
        None
        if detail is None or one is None
        else Drawn(
            name, one, roll(detail, within, name), rows(detail, within), detail.updates - len(detail.moments)
        )
        for detail, one, name in zip(details, pair.figures, names, strict=True)
    )
    counts = ", ".join(
        f"{f'{name}: ' if len(names) > 1 else ''}{'–' if one is None else one.erased}"
        for name, one in zip(names, pair.figures, strict=True)
    )
    return SegmentDetail(
        id=id_,
        title=f"Segment {pair.name}",
        words=f"{counts} shown tokens erased",
        verdict=verdict(pair.difference),
        sparks=tuple(
            None if detail is None else spark(detail, high, number) for number, detail in enumerate(details)
        ),
        runs=drawn,
    )


def verdict(difference: int | None) -> str:
    """What a difference in erased tokens means for a viewer; empty if there is none."""
    return "" if not difference else "better" if difference < 0 else "worse"
