"""Histograms of latency and acceptance; two runs share the same scales."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from flows.pages.report.gather import Gathered
from flows.pages.report.plots import Plot, levels
from flows.pages.svg import Scale, drawing, rect, tag, text, ticks
from operators.metrics.report import StreamFigures

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
