"""Selects the segments to draw; those of two runs are paired."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from markupsafe import Markup

from flows.pages.report.gather import Detail, Gathered
from flows.pages.report.roll import frame, roll, snippet
from flows.pages.report.rows import UpdateRow, rows
from flows.pages.report.spark import spark
from operators.metrics.report import Report, SegmentFigures

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


class Opened(NamedTuple):
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


def opened(pairs: Sequence[Pair], runs: Sequence[Gathered], names: Sequence[str]) -> dict[int, Opened]:
    """The drawn segments, by their index in ``pairs``: as many of the first ones as fit."""
    wanted = pairs[:MAX_DRAWN]
    details = [
        run.details(
            {(one.stream, one.segment) for pair in wanted if (one := pair.figures[place]) is not None}
        )
        for place, run in enumerate(runs)
    ]
    erased = [moment.shown.erased for run in details for one in run.values() for moment in one.moments]
    made, room = dict[int, Opened](), MAX_CHARACTERS
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
) -> Opened:
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
    return Opened(
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
