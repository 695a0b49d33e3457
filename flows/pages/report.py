"""The report as a page: one file without scripts and external requests."""

import base64
import hashlib
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from flows.pages.drawing import Scale, drawing, line, packaged, rect, tag, text, ticks
from flows.pages.figures import compared, stream_tables
from flows.pages.reading import MeasuredUpdate
from flows.pages.table import Column, snippet
from operators.languages import Language
from operators.metrics.erasure import Marks, Step, marks
from operators.metrics.report import Report, SegmentFigures
from operators.metrics.tokenizers import spelled, tokenizer
from operators.text import cleaned, common_prefix

#: Maximum number of segments in the table, and of those with their updates; of updates per segment; of
#: characters in all updates.
MAX_LISTED, MAX_OPENED, MAX_UPDATES, MAX_CHARACTERS = 1000, 150, 300, 2_500_000
_MAX_BARS = 200


class Run(NamedTuple):
    report: Report
    updates: Sequence[MeasuredUpdate]
    spoken: Language


def page(runs: Sequence[Run]) -> str:
    """The HTML page about one or two runs; deterministic."""
    names = ["A", "B"] if len(runs) > 1 else ["The run"]
    pairs = _matched([run.report for run in runs], names)
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
                "has_text": run.report.kind == "caption",
                "streams": len(run.report.streams),
                "tables": stream_tables(run.report) if len(run.report.streams) > 1 else [],
            }
            for run in runs
        ],
        figures=compared([run.report.total for run in runs], names),
        plots=_erasures(runs, names),
        columns=[column.heading for column in columns],
        listed=[
            (f"segment-{place}" if place in opened else None, [column.cell(pair) for column in columns])
            for place, pair in enumerate(pairs[:MAX_LISTED])
        ],
        opened=[(f"segment-{place}", pairs[place], rows) for place, rows in opened.items()],
        count=len(pairs),
    )


class Plot(NamedTuple):
    picture: Markup
    words: str


# Okabe and Ito's colours, which colour-blind people can distinguish.
_COLOURS = {"of the whole translation": "#595959", "shown, then erased": "#D55E00"}
_WIDTH, _LEFT, _TOP, _BOTTOM = 960.0, 52.0, 44.0, 230.0
_INK, _QUIET, _RULE = "#1b1a17", "#625e55", "#e4dfd4"


def _erasures(runs: Sequence[Run], names: Sequence[str]) -> list[Plot]:
    """Cumulative erasure of each run over its updates, on one scale."""
    most = max(1, *(len(run.updates) for run in runs))
    size = -(-most // _MAX_BARS)
    sums = [
        [
            (sum(one.record.raw.erased for one in some), sum(one.record.shown.erased for one in some))
            for some in (run.updates[at : at + size] for at in range(0, len(run.updates), size))
        ]
        for run in runs
    ]
    across = Scale(0, most, _LEFT, _WIDTH - 12)
    up = Scale(0.0, 1.05 * max(1, *(raw for of_run in sums for raw, _ in of_run)), _BOTTOM, _TOP)
    plots = []
    for run, of_run, name in zip(runs, sums, names, strict=True):
        parts = _axes(f"{name}: tokens erased, update by update", across, up)
        for number, erased in enumerate(of_run):
            last = min((number + 1) * size, len(run.updates))
            at_s, ne = run.updates[last - 1].at_s, run.updates[last - 1].record.shown.ne_stream
            when = f"to update {last}{'' if at_s is None else f', {at_s:.1f} s'}"
            tip = f"{when}: {erased[1]} shown tokens erased, {erased[0]} of the whole; NE so far {ne:.2f}"
            x, wide = across.at(number * size), max(across.at(size) - across.begin - 1, 0.5)
            for value, colour in zip(erased, _COLOURS.values(), strict=True):
                y = up.at(value)
                bar = tag("rect", tag("title", tip), x=x, y=y, width=wide, height=_BOTTOM - y, fill=colour)
                parts.append(bar)
        words = (
            f"{name}: {sum(shown for _, shown in of_run)} tokens that had been shown were erased, "
            f"{sum(raw for raw, _ in of_run)} of the whole translations. One bar is {size} updates."
        )
        style = {"font_family": "sans-serif", "font_size": 13}
        plots.append(Plot(drawing(_WIDTH, _BOTTOM + 50, parts, words, "plot", **style), words))
    return plots


def _axes(title: str, across: Scale, up: Scale) -> list[Markup]:
    parts = [rect(0, 0, _WIDTH, _BOTTOM + 50, fill="#ffffff"), text(_LEFT, 24, title, fill=_INK)]
    for value in ticks(up.low, up.high):
        y = up.at(value)
        parts.append(line(across.begin, y, across.end, y, stroke=_RULE))
        parts.append(text(across.begin - 8, y + 4, f"{value:g}", fill=_QUIET, text_anchor="end"))
    for value in ticks(across.low, across.high):
        x = across.at(value)
        parts.append(text(x, _BOTTOM + 20, f"{value:g}", fill=_QUIET, text_anchor="middle"))
    middle = (across.begin + across.end) / 2
    parts.append(text(middle, _BOTTOM + 40, "update", fill=_QUIET, text_anchor="middle"))
    for place, (name, colour) in enumerate(_COLOURS.items()):
        y = _TOP + 20 * place
        parts.append(rect(_WIDTH - 24, y, 12, 4, fill=colour))
        parts.append(text(_WIDTH - 32, y + 6, name, fill=_INK, text_anchor="end"))
    return parts


class SegmentPair(NamedTuple):
    """The same segment in each run; None if a run lacks it or has not finished it."""

    name: str
    figures: dict[str, SegmentFigures | None]

    @property
    def known(self) -> list[SegmentFigures]:
        return [one for one in self.figures.values() if one is not None]

    @property
    def difference(self) -> str | None:
        """How many more tokens the second run erased than the first, in words."""
        before, after = self.figures.values()
        return None if before is None or after is None else f"{after.erased - before.erased:+d}"


def _matched(reports: Sequence[Report], names: Sequence[str]) -> list[SegmentPair]:
    """The finished segments, those with most erased tokens first.

    Segments of two runs are paired by stream and number, or by number if each run has one stream.
    """
    alone = all(len(report.streams) == 1 for report in reports)
    pairs: dict[tuple[str, int], SegmentPair] = {}
    for report, name in zip(reports, names, strict=True):
        for one in report.segments:
            key = ("" if alone else one.stream, one.segment)
            title = f"{snippet(key[0], 24)} {one.segment}".strip()
            pairs.setdefault(key, SegmentPair(title, dict.fromkeys(names))).figures[name] = one

    def flicker(pair: SegmentPair) -> tuple[float, ...]:
        worst = (max(getattr(one, name) for one in pair.known) for name in ("erased", "ne_shown", "ne_raw"))
        return tuple(worst)

    return sorted(pairs.values(), key=flicker, reverse=True)


def _columns(pairs: Sequence[SegmentPair], names: Sequence[str]) -> list[Column]:
    columns = [Column("segment", "name")]
    of_run = [
        Column("updates", "updates", 0),
        Column("erased", "erased", 0),
        Column("NE shown", "ne_shown", 2),
        Column("latency", "latency_s", 2, " s"),
    ]
    if any(pair.known[0].start_s is not None for pair in pairs):
        columns.append(Column("begins", lambda pair: pair.known[0].start_s, 1, " s"))
        of_run.append(Column("lag", "lag_s", 2, " s"))
    for column in of_run:
        for name in names:
            heading = f"{column.heading} {name}" if len(names) > 1 else column.heading
            columns.append(column._replace(heading=heading, value=f"figures.{name}.{column.value}"))
    if len(names) > 1:
        columns.append(Column("difference", "difference"))
    return [*columns, Column("text", lambda pair: snippet(pair.known[0].text or ""))]


class TextSpan(NamedTuple):
    """Neighbouring tokens with the same marks."""

    text: str
    #: Whether this update added it, whether the next one erases it, and whether it stays to the end.
    is_new: bool
    is_erased: bool
    is_settled: bool


class UpdateRow(NamedTuple):
    """One update, in seconds since the beginning of the segment."""

    since_s: float
    erased: int
    pieces: list[TextSpan]
    withheld: str
    #: The recognised words that the last update had, and the new ones after them.
    source_kept: str
    source_new: str


def _opened(pairs: Sequence[SegmentPair], runs: Sequence[Run]) -> dict[int, list[list[UpdateRow]]]:
    """The segments shown update by update: as many of the first ones as fit."""
    updates = [defaultdict[tuple[str, int], list[MeasuredUpdate]](list) for _ in runs]
    for of_run, run in zip(updates, runs, strict=True):
        for one in run.updates:
            of_run[one.record.stream, one.record.segment].append(one)
    opened, room = dict[int, list[list[UpdateRow]]](), MAX_CHARACTERS
    for place, pair in enumerate(pairs[:MAX_OPENED]):
        its = [
            [] if one is None else of_run[one.stream, one.segment][-MAX_UPDATES:]
            for one, of_run in zip(pair.figures.values(), updates, strict=True)
        ]
        size = sum(len(c.text) + len(c.source) for each in its for one in each if (c := one.caption))
        if size <= room / 8:
            room -= size
            opened[place] = [_rows(each, run.spoken) for each, run in zip(its, runs, strict=True)]
    return opened


def _rows(updates: Sequence[MeasuredUpdate], spoken: Language) -> list[UpdateRow]:
    split = tokenizer(spoken.tokenizer)
    marked = marks([Step(one.record.shown.length, one.record.shown.erased) for one in updates])
    rows, heard = [], list[str]()
    for one, mark in zip(updates, marked, strict=True):
        if (caption := one.caption) is None:
            continue
        words = caption.source.split()
        kept = common_prefix(heard, words)
        heard = words
        rows.append(
            UpdateRow(
                since_s=one.record.latency_from_speech_s + caption.end_s - caption.start_s,
                erased=one.record.shown.erased,
                pieces=_spans(spelled(caption.shown, split(caption.shown)), mark),
                withheld=_safe(caption.withheld),
                source_kept=cleaned(" ".join(words[:kept])),
                source_new=cleaned(" ".join(words[kept:])),
            )
        )
    return rows


def _spans(tokens: Sequence[str], mark: Marks) -> list[TextSpan]:
    cuts = sorted({0, *(min(place, len(tokens)) for place in mark), len(tokens)})
    return [
        TextSpan(
            _safe("".join(tokens[first:end])),
            is_new=first >= mark.kept,
            is_erased=first >= mark.stands,
            is_settled=first < mark.settled,
        )
        for first, end in pairwise(cuts)
    ]


def _safe(text: str) -> str:
    """Without control characters for a browser; a space before one stays."""
    return " " * text[:1].isspace() + cleaned(text)
