"""Plots of erasure over time, and histograms of latency and acceptance; two runs share the same scales."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from flows.pages.drawing import Scale, drawing, levels, rect, tag, text, ticks
from flows.pages.report.reading import Gathered
from operators.metrics.report import StreamFigures

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
    parts = [*levels(up, 44, _WIDTH - 8, 4), *_updates(across)]
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


_BINS = 24
_SMALL_WIDTH, _SMALL_HEIGHT = 300.0, 150.0
# The percentage of the latencies that lie on the scale; the rest is in the last bar.
_ON_SCALE = 99
_LATENCY = {
    "from_speech": "From speech to caption",
    "recogniser": "Recogniser",
    "queue": "Queue",
    "model": "Model",
    "display": "Display",
}

Values = npt.NDArray[np.float64]


def histograms(runs: Sequence[Gathered], totals: Sequence[StreamFigures], names: Sequence[str]) -> list[Plot]:
    """Histograms of where the time went, and of how much of the drafts was accepted."""
    made = []
    for part, title in _LATENCY.items():
        columns = [1000 * np.asarray(run.parts[part]) for run in runs]
        told = [_late(total, part) for total in totals]
        made.append(_histogram(title, columns, told, names, "ms"))
    for title, drafted in (
        ("A/D: of the drafts were accepted", True),
        ("A/O: of the output came from drafts", False),
    ):
        columns = [100 * np.asarray(run.over_drafted if drafted else run.over_output) for run in runs]
        shares = [total.accepted_over_drafted if drafted else total.accepted_over_output for total in totals]
        told = ["no drafts" if share is None else f"{100 * share:.0f} % of all tokens" for share in shares]
        made.append(_histogram(title, columns, told, names, "%"))
    return [plot for plot in made if plot is not None]


def _late(total: StreamFigures, part: str) -> str:
    known = total.latency_from_speech_ms if part == "from_speech" else getattr(total.latency_parts_ms, part)
    return "not in the file" if known is None else f"p50 {known.p50:.0f} ms, p95 {known.p95:.0f} ms"


def _histogram(
    title: str, columns: Sequence[Values], told: Sequence[str], names: Sequence[str], unit: str
) -> Plot | None:
    known = [column for column in columns if len(column)]
    if not known:
        return None
    low, high = _bounds(np.concatenate(known), unit)
    edges = np.linspace(low, high, _BINS + 1)
    counts = [np.histogram(np.clip(column, low, high), edges)[0] for column in columns]
    # Shares, so that two runs of different length can be compared.
    shares = [100 * count / max(1, len(column)) for count, column in zip(counts, columns, strict=True)]
    across = Scale(low, high, 36, _SMALL_WIDTH - 8)
    up = Scale(0, max(float(share.max()) for share in shares), _SMALL_HEIGHT - 26, 10)
    parts = [*levels(up, 36, _SMALL_WIDTH - 8, 3, " %"), *_marks_below(across, unit)]
    for place in range(_BINS):
        many = [
            f"{f'{name}: ' if len(names) > 1 else ''}{count[place]} updates ({share[place]:.1f} %)"
            for name, count, share in zip(names, counts, shares, strict=True)
        ]
        beyond = " and more" if place == _BINS - 1 and unit == "ms" else ""
        tip = f"{edges[place]:.0f}–{edges[place + 1]:.0f} {unit}{beyond}: {', '.join(many)}"
        bin_ = across.at(edges[place]), across.at(edges[place + 1])
        parts.append(_bin(bin_, [float(share[place]) for share in shares], up, tip))
    words = "; ".join(
        f"{f'{name}: ' if len(names) > 1 else ''}{one}" for name, one in zip(names, told, strict=True)
    )
    picture = drawing(_SMALL_WIDTH, _SMALL_HEIGHT, parts, f"{title}. {words}", "plot small")
    return Plot(title, picture, words)


def _bin(sides: tuple[float, float], shares: Sequence[float], up: Scale, tip: str) -> Markup:
    left, right = sides
    hit = [rect(left, 10, right - left, up.begin - 10, class_="hit")]
    width = (right - left - 1) / len(shares)
    for number, share in enumerate(shares):
        if share:
            top = up.at(share)
            hit.append(
                rect(left + 0.5 + number * width, top, width, up.begin - top, class_=f"bar run{number}")
            )
    return tag("g", Markup("").join(hit), class_="mark", data_tip=tip)


def _bounds(values: Values, unit: str) -> tuple[float, float]:
    if unit == "%":
        return 0.0, 100.0
    low, high = min(0.0, float(values.min())), float(np.percentile(values, _ON_SCALE))
    return low, max(high, low + 1.0)


def _marks_below(across: Scale, unit: str) -> list[Markup]:
    values = ticks(across.low, across.high, 4)
    return [
        text(
            across.at(value),
            _SMALL_HEIGHT - 9,
            f"{value:g}{f' {unit}' if value == values[-1] else ''}",
            text_anchor="end" if across.at(value) > _SMALL_WIDTH - 30 else "middle",
        )
        for value in values
    ]
