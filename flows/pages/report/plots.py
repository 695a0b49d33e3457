"""Plots of erasure over time; two runs share the same scales."""

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from flows.pages.report.gather import Gathered
from flows.pages.svg import Scale, drawing, line, rect, tag, text, ticks

#: Maximum number of bars.
MAX_BARS = 200

_WIDTH, _HEIGHT = 960.0, 170.0


class Plot(NamedTuple):
    """A drawing with its title and a description in words."""

    title: str
    picture: Markup
    words: str


class Bar(NamedTuple):
    """Neighbouring updates, from ``first`` to ``end`` (exclusive)."""

    first: int
    end: int
    raw: int
    shown: int
    #: NE of the shown text after the last of them.
    ne: float


def bars(run: Gathered, size: int) -> list[Bar]:
    """The updates of a run, ``size`` per bar."""
    starts = range(0, len(run.raw), size)
    return [
        Bar(first, end, sum(run.raw[first:end]), sum(run.shown[first:end]), run.ne[end - 1])
        for first in starts
        for end in [min(first + size, len(run.raw))]
    ]


def erasure(runs: Sequence[Gathered], names: Sequence[str]) -> list[Plot]:
    """A plot for each run, over its updates."""
    most = max(len(run.raw) for run in runs)
    size = max(1, -(-most // MAX_BARS))
    made = [bars(run, size) for run in runs]
    high = max([1, *(max(bar.raw, bar.shown) for run in made for bar in run)])
    return [
        _erasure(run, one, name, number, most, high, size)
        for number, (run, one, name) in enumerate(zip(runs, made, names, strict=True))
    ]


def _erasure(
    run: Gathered, made: Sequence[Bar], name: str, number: int, most: int, high: int, size: int
) -> Plot:
    across, up = Scale(0, most, 44, _WIDTH - 8), Scale(0, high, _HEIGHT - 28, 10)
    parts = [*levels(up, 44, _WIDTH - 8), *_updates(across)]
    for bar in made:
        left, right = across.at(bar.first), across.at(bar.first + size)
        gap = 0.15 * (right - left)
        hit = [rect(left, 10, right - left, _HEIGHT - 38, class_="hit")]
        for kind, count in (("raw", bar.raw), ("shown", bar.shown)):
            if count:
                top = up.at(count)
                hit.append(rect(left + gap, top, right - left - 2 * gap, up.begin - top, class_=kind))
        parts.append(tag("g", Markup("").join(hit), class_="mark", data_tip=_bar_words(run, bar)))
    updates = "update" if size == 1 else f"{size} updates"
    words = (
        f"{sum(run.shown)} tokens that had been shown were erased, {sum(run.raw)} of the whole translations; "
        f"at most {max(run.shown, default=0)} shown ones by one update. One bar is one {updates}."
        if size == 1
        else f"{sum(run.shown)} tokens that had been shown were erased, {sum(run.raw)} of the whole "
        f"translations. One bar is {updates} together."
    )
    return Plot(name, drawing(_WIDTH, _HEIGHT, parts, f"{name}. {words}", f"plot run{number}"), words)


def _bar_words(run: Gathered, bar: Bar) -> str:
    which = f"update {bar.first + 1}" if bar.end - bar.first == 1 else f"updates {bar.first + 1}–{bar.end}"
    when = f", {run.at_s[bar.end - 1]:.1f} s" if run.at_s else ""
    return f"{which}{when}: {bar.shown} shown tokens erased, {bar.raw} of the whole; NE so far {bar.ne:.2f}"


def levels(up: Scale, left: float, right: float, most: int = 4, unit: str = "") -> list[Markup]:
    """The horizontal grid lines of a plot, and their labels on the left."""
    parts = []
    for value in ticks(up.low, up.high, most):
        y = up.at(value)
        parts.append(line(left, y, right, y, class_="grid"))
        parts.append(text(left - 5, y + 4, f"{value:g}{unit}", text_anchor="end"))
    return parts


def _updates(across: Scale) -> list[Markup]:
    return [
        text(
            across.at(value),
            _HEIGHT - 10,
            f"{value:g}" if value else "update",
            text_anchor="middle" if value else "start",
        )
        for value in ticks(across.low, across.high, 8, whole=True)
    ]
