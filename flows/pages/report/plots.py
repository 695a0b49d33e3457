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
    raw, shown, ne = (run.series[name] for name in ("raw", "shown", "ne"))
    ends = [(first, min(first + size, len(raw))) for first in range(0, len(raw), size)]
    return [Bar(first, end, sum(raw[first:end]), sum(shown[first:end]), ne[end - 1]) for first, end in ends]


def erasure(runs: Sequence[Gathered], names: Sequence[str]) -> list[Plot]:
    """A plot for each run, over its updates."""
    most = max(len(run.series["raw"]) for run in runs)
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
    raw, shown = run.series["raw"], run.series["shown"]
    erased = f"{sum(shown)} tokens that had been shown were erased, {sum(raw)} of the whole translations"
    words = f"{erased}. One bar is {size} updates together."
    if size == 1:
        most_shown = max(shown, default=0)
        words = f"{erased}; at most {most_shown} shown ones by one update. One bar is one update."
    return Plot(name, drawing(_WIDTH, _HEIGHT, parts, f"{name}. {words}", f"plot run{number}"), words)


def _bar_words(run: Gathered, bar: Bar) -> str:
    which = f"update {bar.first + 1}" if bar.end - bar.first == 1 else f"updates {bar.first + 1}–{bar.end}"
    times = run.series["at_s"]
    when = f", {times[bar.end - 1]:.1f} s" if times else ""
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
# Left of it is space for "100 %".
_SMALL_LEFT, _SMALL_WIDTH, _SMALL_HEIGHT = 42.0, 300.0, 150.0
# The percentage of the latencies that lie on the scale; the rest is in the last bar.
_ON_SCALE = 99
_TITLES = {
    "from_speech": "From speech to caption",
    "recogniser": "Recogniser",
    "queue": "Queue",
    "model": "Model",
    "display": "Display",
    "accepted_over_drafted": "A/D: of the drafts were accepted",
    "accepted_over_output": "A/O: of the output came from drafts",
}

Values = npt.NDArray[np.float64]


def histograms(runs: Sequence[Gathered], totals: Sequence[StreamFigures], names: Sequence[str]) -> list[Plot]:
    """Histograms of where the time went, and of how much of the drafts was accepted."""
    made = []
    for name, title in _TITLES.items():
        unit, scale, told_of = ("%", 100, _accepted) if name.startswith("accepted") else ("ms", 1000, _late)
        columns = [scale * np.asarray(run.series[name]) for run in runs]
        made.append(_histogram(title, columns, [told_of(total, name) for total in totals], names, unit))
    return [plot for plot in made if plot is not None]


def _accepted(total: StreamFigures, name: str) -> str:
    share: float | None = getattr(total, name)
    return "no drafts" if share is None else f"{100 * share:.0f} % of all tokens"


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
    across = Scale(low, high, _SMALL_LEFT, _SMALL_WIDTH - 8)
    up = Scale(0, max(float(share.max()) for share in shares), _SMALL_HEIGHT - 26, 10)
    parts = [*levels(up, _SMALL_LEFT, _SMALL_WIDTH - 8, 3, " %"), *_marks_below(across, unit)]
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
