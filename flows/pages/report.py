"""The report as a page: one file without scripts and external requests."""

import base64
import hashlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from connectors.files.atomic import write_atomically
from flows.pages.drawing import Scale, drawing, line, packaged, rect, tag, text, ticks
from flows.pages.figures import compared, stream_tables
from flows.pages.reading import Measured
from flows.pages.table import Column, snippet
from operators.languages import Language
from operators.metrics.lifespans import Marks, Step, marks
from operators.metrics.report import Report, SegmentFigures
from operators.metrics.tokenizers import spelled, tokenizer
from operators.text import cleaned, common_prefix

#: Maximum number of segments in the table and with their updates; of updates of one; of characters of all.
MAX_LISTED, MAX_OPENED, MAX_UPDATES, MAX_CHARACTERS = 1000, 150, 300, 2_500_000
_MAX_BARS, _BINS = 200, 24


class Run(NamedTuple):
    """A file that the page is about."""

    report: Report
    updates: Sequence[Measured]
    spoken: Language


def write_page(runs: Sequence[Run], path: Path) -> None:
    """Write the page about one run, or about two; raises `OutputError`."""
    write_atomically(path, page(runs).encode())


def page(runs: Sequence[Run]) -> str:
    """The page as HTML. The same files give the same page."""
    names = ["A", "B"] if len(runs) > 1 else ["The run"]
    pairs = matched([run.report for run in runs])
    columns = _columns(pairs, names)
    opened = _opened(pairs, runs)
    style = packaged("report.css")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(packaged("report.html")).render(
        policy=f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'",
        # Our own file, the same for every page: it never contains input data.
        style=Markup(style),
        names=names,
        title=" and ".join(cleaned(Path(run.report.source).name) for run in runs),
        reports=[
            {
                "source": cleaned(run.report.source),
                "signature": cleaned(run.report.signature),
                "kind": "captions" if run.report.kind == "caption" else "erasure log",
                "streams": len(run.report.streams),
                "tables": stream_tables(run.report) if len(run.report.streams) > 1 else [],
            }
            for run in runs
        ],
        has_text=[run.report.kind == "caption" for run in runs],
        figures=compared([run.report.total for run in runs], names),
        plots=[*_erasures(runs, names), *_histograms(runs, names)],
        columns=[column.heading for column in columns],
        listed=[
            (f"segment-{place}" if place in opened else None, [column.cell(pair) for column in columns])
            for place, pair in enumerate(pairs[:MAX_LISTED])
        ],
        opened=[(f"segment-{place}", pairs[place], of_runs) for place, of_runs in opened.items()],
        count=len(pairs),
    )


class Plot(NamedTuple):
    """A drawing with its description in words."""

    picture: Markup
    words: str


# Okabe and Ito's colours, which colour-blind people can distinguish.
_BLUE, _ORANGE, _GREY = "#0072B2", "#D55E00", "#595959"
_TOP, _BOTTOM, _INK, _QUIET, _RULE = 44.0, 230.0, "#1b1a17", "#625e55", "#e4dfd4"


class _Chart:
    """Bars on a white ground: a title, horizontal lines, and numbers at both axes."""

    def __init__(
        self, title: str, width: float, across: tuple[float, float], high: float, label: str
    ) -> None:
        left, right = 52.0, width - 12
        self._width, self._across = width, Scale(*across, left, right)
        self._up = Scale(0.0, 1.05 * max(1.0, high), _BOTTOM, _TOP)
        self._parts = [rect(0, 0, width, _BOTTOM + 50, fill="#ffffff"), text(left, 24, title, fill=_INK)]
        for value in ticks(self._up.low, self._up.high):
            y = self._up.at(value)
            self._parts.append(line(left, y, right, y, stroke=_RULE))
            self._parts.append(text(left - 8, y + 4, f"{value:g}", fill=_QUIET, text_anchor="end"))
        for value in ticks(*across):
            x = self._across.at(value)
            self._parts.append(text(x, _BOTTOM + 20, f"{value:g}", fill=_QUIET, text_anchor="middle"))
        middle = (left + right) / 2
        self._parts.append(text(middle, _BOTTOM + 40, label, fill=_QUIET, text_anchor="middle"))

    def bar(self, low: float, high: float, value: float, colour: str, tip: str) -> None:
        """Draw a bar from ``low`` to ``high``, which says ``tip`` to a pointer."""
        x, y = self._across.at(low), self._up.at(value)
        wide = max(self._across.at(high) - x - 1, 0.5)
        shape = tag("rect", tag("title", tip), x=x, y=y, width=wide, height=_BOTTOM - y, fill=colour)
        self._parts.append(shape)

    def legend(self, names: Sequence[str], colours: Sequence[str]) -> None:
        """Write the names of colours on the right."""
        for place, (name, colour) in enumerate(zip(names, colours, strict=False)):
            y = _TOP + 20 * place
            self._parts.append(rect(self._width - 24, y, 12, 4, fill=colour))
            self._parts.append(text(self._width - 32, y + 6, name, fill=_INK, text_anchor="end"))

    def plot(self, words: str) -> Plot:
        """The drawing with its description."""
        style = {"font_family": "sans-serif", "font_size": 13}
        return Plot(drawing(self._width, _BOTTOM + 50, self._parts, words, "plot", **style), words)


def _erasures(runs: Sequence[Run], names: Sequence[str]) -> list[Plot]:
    """The erasure of each run over its updates, on one scale."""
    most = max(1, *(len(run.updates) for run in runs))
    size = -(-most // _MAX_BARS)
    made = []
    for run in runs:
        raw, shown = ([getattr(one.record, what).erased for one in run.updates] for what in ("raw", "shown"))
        ends = range(0, len(raw), size)
        made.append(
            [(first, sum(raw[first : first + size]), sum(shown[first : first + size])) for first in ends]
        )
    high = max(map(max, [bar[1:] for bars in made for bar in bars]), default=0)
    plots = []
    for run, bars, name in zip(runs, made, names, strict=True):
        chart = _Chart(f"{name}: tokens erased, update by update", 960, (0, most), high, "update")
        for first, raw_erased, shown_erased in bars:
            last = min(first + size, len(run.updates))
            at_s, ne = run.updates[last - 1].at_s, run.updates[last - 1].record.shown.ne_stream
            when = f"to update {last}{'' if at_s is None else f', {at_s:.1f} s'}"
            tip = f"{when}: {shown_erased} shown tokens erased, {raw_erased} of the whole; NE so far {ne:.2f}"
            chart.bar(first, first + size, raw_erased, _GREY, tip)
            chart.bar(first, first + size, shown_erased, _ORANGE, tip)
        chart.legend(("shown, then erased", "of the whole translation"), (_ORANGE, _GREY))
        words = (
            f"{name}: {sum(bar[2] for bar in bars)} tokens that had been shown were erased, "
            f"{sum(bar[1] for bar in bars)} of the whole translations. One bar is {size} updates."
        )
        plots.append(chart.plot(words))
    return plots


#: What is spread, and how each update tells it; None if it does not.
_SPREADS: dict[str, Callable[[Measured], float | None]] = {
    "From speech to caption, ms": lambda one: 1000 * one.record.latency_from_speech_s,
    **{
        f"{part.capitalize()}, ms": lambda one, name=f"{part}_s": _scaled(  # type: ignore[misc]
            getattr(one.record.latency, name, None), 1000
        )
        for part in ("recogniser", "queue", "model", "display")
    },
    "A/D: of the drafts were accepted, %": lambda one: _scaled(one.record.accepted_over_drafted, 100),
    "A/O: of the output came from drafts, %": lambda one: _scaled(one.record.accepted_over_output, 100),
}


def _scaled(value: float | None, by: float) -> float | None:
    return None if value is None else by * value


def _histograms(runs: Sequence[Run], names: Sequence[str]) -> list[Plot]:
    """Shares of the updates, by where the time went and by how much of the drafts was accepted."""
    plots = []
    for title, value in _SPREADS.items():
        of_runs = [np.array([v for one in run.updates if (v := value(one)) is not None]) for run in runs]
        known = np.concatenate(of_runs)
        if not len(known):
            continue
        # The rest is in the last bar.
        low, high = min(0.0, float(known.min())), float(np.percentile(known, 99))
        edges = np.linspace(low, max(high, low + 1.0), _BINS + 1)
        shares = [
            100 * np.histogram(np.clip(values, low, edges[-1]), edges)[0] / max(1, len(values))
            for values in of_runs
        ]
        most = float(np.concatenate(shares).max())
        chart = _Chart(title, 320, (low, float(edges[-1])), most, "% of the updates in each bar")
        for number, (share, name) in enumerate(zip(shares, names, strict=True)):
            for place, (left, right) in enumerate(pairwise(map(float, edges))):
                begin = left + (right - left) * number / len(runs)
                tip = f"{name}: {share[place]:.1f} % from {left:.0f} to {right:.0f}"
                end = begin + (right - left) / len(runs)
                chart.bar(begin, end, float(share[place]), (_BLUE, _ORANGE)[number], tip)
        if len(runs) > 1:
            chart.legend(names, (_BLUE, _ORANGE))
        told = [
            f"{name} p50 {np.percentile(values, 50):.0f}, p95 {np.percentile(values, 95):.0f}"
            for name, values in zip(names, of_runs, strict=True)
            if len(values)
        ]
        plots.append(chart.plot(f"{title}: {'; '.join(told)}"))
    return plots


class Pair(NamedTuple):
    """A segment in each of the runs; None if a run lacks it or has not finished it."""

    figures: tuple[SegmentFigures | None, ...]
    name: str

    @property
    def any(self) -> SegmentFigures:
        """The segment of the first run that has it."""
        return next(one for one in self.figures if one is not None)

    @property
    def difference(self) -> str | None:
        """How many more tokens the second run erased than the first."""
        before, after = self.figures
        return None if before is None or after is None else f"{after.erased - before.erased:+d}"


def matched(reports: Sequence[Report]) -> list[Pair]:
    """The finished segments, those with most erased tokens first.

    They are paired by stream and number; by number if each run has one stream.
    """
    alone = all(len(report.streams) == 1 for report in reports)
    found: dict[tuple[str, int], list[SegmentFigures | None]] = {}
    for place, report in enumerate(reports):
        for one in report.segments:
            key = ("" if alone else one.stream, one.segment)
            found.setdefault(key, [None] * len(reports))[place] = one
    pairs = [
        Pair(tuple(one), f"{snippet(stream, 24)} {number}".strip()) for (stream, number), one in found.items()
    ]

    def flicker(pair: Pair) -> tuple[float, ...]:
        known = [one for one in pair.figures if one is not None]
        return tuple(max(getattr(one, name) for one in known) for name in ("erased", "ne_shown", "ne_raw"))

    return sorted(pairs, key=flicker, reverse=True)


def _columns(pairs: Sequence[Pair], names: Sequence[str]) -> list[Column]:
    columns = [Column("segment", "name")]
    is_timed = any(pair.any.start_s is not None for pair in pairs)
    if is_timed:
        columns.append(Column("begins", "any.start_s", 1, " s"))
    for of_run in (
        Column("updates", "updates", 0), Column("erased", "erased", 0), Column("NE shown", "ne_shown", 2),
        Column("latency", "latency_s", 2, " s"), *[Column("lag", "lag_s", 2, " s")] * is_timed,
    ):  # fmt: skip
        for place, name in enumerate(names):
            heading = f"{of_run.heading} {name}" if len(names) > 1 else of_run.heading

            def value(pair: Pair, column: Column = of_run, place: int = place) -> object:
                return column.of(pair.figures[place])

            columns.append(of_run._replace(heading=heading, value=value))
    if len(names) > 1:
        columns.append(Column("difference", "difference"))
    return [*columns, Column("text", lambda pair: snippet(pair.any.text or ""))]


class Piece(NamedTuple):
    """Neighbouring tokens with the same marks."""

    text: str
    #: Whether this update added it; the next one erases it; no later one erases it.
    is_new: bool
    is_erased: bool
    is_settled: bool


class UpdateRow(NamedTuple):
    """One update of a segment."""

    #: Its time since the beginning of the segment; empty in an erasure log.
    since: str
    erased: int
    pieces: list[Piece]
    withheld: str
    #: The recognised words that were there before, and those after them.
    source_kept: str
    source_new: str


class Opened(NamedTuple):
    """A segment of one run, update by update."""

    figures: SegmentFigures
    rows: list[UpdateRow]


def _opened(pairs: Sequence[Pair], runs: Sequence[Run]) -> Mapping[int, list[Opened | None]]:
    """The segments that are shown update by update, by their index: as many of the first ones as fit."""
    updates = [defaultdict[tuple[str, int], list[Measured]](list) for _ in runs]
    for of_run, run in zip(updates, runs, strict=True):
        for one in run.updates:
            of_run[one.record.stream, one.record.segment].append(one)
    made, room = dict[int, list[Opened | None]](), MAX_CHARACTERS
    for place, pair in enumerate(pairs[:MAX_OPENED]):
        its = [
            [] if one is None else of_run[one.stream, one.segment][-MAX_UPDATES:]
            for one, of_run in zip(pair.figures, updates, strict=True)
        ]
        size = sum(len(c.text) + len(c.source) for each in its for one in each if (c := one.caption))
        if size > room / 8:
            continue
        room -= size
        made[place] = [
            None if one is None else Opened(one, _rows(each, run.spoken))
            for one, each, run in zip(pair.figures, its, runs, strict=True)
        ]
    return made


def _rows(updates: Sequence[Measured], spoken: Language) -> list[UpdateRow]:
    split = tokenizer(spoken.tokenizer)
    marked = marks([Step(one.record.shown.length, one.record.shown.erased) for one in updates])
    rows, heard = [], list[str]()
    for one, mark in zip(updates, marked, strict=True):
        caption = one.caption
        if caption is None or one.at_s is None:
            continue
        words = caption.source.split()
        kept = common_prefix(heard, words)
        heard = words
        rows.append(
            UpdateRow(
                since=f"+{one.at_s - caption.start_s:.1f} s",
                erased=one.record.shown.erased,
                pieces=pieces(spelled(caption.shown, split(caption.shown)), mark),
                withheld=_safe(caption.withheld),
                source_kept=cleaned(" ".join(words[:kept])),
                source_new=cleaned(" ".join(words[kept:])),
            )
        )
    return rows


def pieces(tokens: Sequence[str], mark: Marks) -> list[Piece]:
    """The text of one update, split where the marks change."""
    cuts = sorted({0, *(min(place, len(tokens)) for place in mark), len(tokens)})
    return [
        Piece(
            _safe("".join(tokens[first:end])),
            is_new=first >= mark.kept,
            is_erased=first >= mark.stands,
            is_settled=first < mark.settled,
        )
        for first, end in pairwise(cuts)
    ]


def _safe(text: str) -> str:
    """A text from outside without control characters for a browser; a space before it stays."""
    return " " * text[:1].isspace() + cleaned(text)
