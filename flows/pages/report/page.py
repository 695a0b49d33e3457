"""Builds the page: one self-contained file without external requests."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from markupsafe import Markup

from connectors.files.atomic import write_atomically
from flows.pages.document import packaged, policy, render
from flows.pages.report import segments
from flows.pages.report.cards import cards
from flows.pages.report.plots import erasure, histograms
from flows.pages.report.reading import Gathered
from flows.pages.report.roll import snippet
from flows.pages.report.segments import Pair, SegmentDetail, verdict
from flows.pages.report.tables import stream_tables
from flows.pages.table import number
from flows.pages.trace.page import section
from flows.pages.trace.picture import style_sheet
from operators.decoding.trace import Trace
from operators.metrics.report import Report
from operators.text import cleaned

#: Maximum number of rows.
MAX_LISTED = 1000


class TableCell(NamedTuple):
    """A cell of the table: its text, and its sort key."""

    text: str
    order: float | str
    kind: str = ""


class ListedSegment(NamedTuple):
    """A row of the table."""

    #: Number of the segment's drawing; None if there is none.
    id: str | None
    name: str
    order: int
    cells: tuple[TableCell, ...]
    text: str


def _columns(pairs: Sequence[Pair], names: Sequence[str]) -> list[str]:
    """The column headings of the table, except the first and the last."""
    timed = any(pair.any.start_s is not None for pair in pairs)
    each = [f" {name}" for name in names] if len(names) > 1 else [""]
    made = ["begins"] if timed else []
    for head in (
        "updates",
        "erased",
        *([] if len(names) == 1 else ["difference"]),
        "NE shown",
        "NE raw",
        "latency",
    ):
        made += [head] if head == "difference" else [f"{head}{name}" for name in each]
    return made + ([f"lag{name}" for name in each] if timed else [])


def _listed(pairs: Sequence[Pair], drawn: Mapping[int, SegmentDetail]) -> list[ListedSegment]:
    """The rows of the table."""
    timed = any(pair.any.start_s is not None for pair in pairs)
    return [
        ListedSegment(
            id=drawn[place].id if place in drawn else None,
            name=pair.name,
            order=place,
            cells=tuple(_cells(pair, timed)),
            text=snippet(pair.any.text or ""),
        )
        for place, pair in enumerate(pairs[:MAX_LISTED])
    ]


def _cells(pair: Pair, timed: bool) -> list[TableCell]:
    def each(name: str, digits: int, unit: str = "") -> list[TableCell]:
        return [_cell(None if one is None else getattr(one, name), digits, unit) for one in pair.figures]

    made = [_cell(pair.any.start_s, 1, " s")] if timed else []
    made += [*each("updates", 0), *each("erased", 0)]
    if len(pair.figures) > 1:
        difference = pair.difference
        told = "–" if difference is None else f"{difference:+d}".replace("-", "−") if difference else "0"
        made.append(TableCell(told, "" if difference is None else difference, verdict(difference)))
    made += [
        *each("ne_shown", 2),
        *([] if len(pair.figures) > 1 else each("ne_raw", 2)),
        *each("latency_s", 2, " s"),
    ]
    return made + (each("lag_s", 2, " s") if timed else [])


def _cell(value: float | None, digits: int, unit: str) -> TableCell:
    return TableCell("–", "") if value is None else TableCell(f"{number(value, digits)}{unit}", value)


def write_page(runs: Sequence[tuple[Gathered, Report]], path: Path, traces: Sequence[Trace] = ()) -> None:
    """Write the page about one run, or about two, and ``traces`` of segments; raises `OutputError`."""
    made = page([gathered for gathered, _ in runs], [report for _, report in runs], traces)
    write_atomically(path, made.encode())


def page(runs: Sequence[Gathered], reports: Sequence[Report], traces: Sequence[Trace] = ()) -> str:
    """The page as HTML. The same files give the same page."""
    names = ["A", "B"] if len(runs) > 1 else ["The run"]
    totals = [report.total for report in reports]
    pairs = segments.matched(reports)
    drawn = segments.opened(pairs, runs, names)
    script, style = packaged("flows.pages.report", "page.js"), packaged("flows.pages", "page.css")
    style += style_sheet() if traces else ""
    return render(
        "flows.pages.report",
        "page.html",
        policy=policy(style, script),
        # Our own files, the same for every page: they never contain input data.
        script=Markup(script),
        style=Markup(style),
        names=names,
        title=" and ".join(cleaned(Path(report.source).name) for report in reports),
        reports=[
            {
                "name": name,
                "source": cleaned(report.source),
                "signature": cleaned(report.signature),
                "kind": "captions" if report.kind == "caption" else "erasure log",
                "streams": len(report.streams),
            }
            for name, report in zip(names, reports, strict=True)
        ],
        has_text=[report.kind == "caption" for report in reports],
        cards=cards(totals),
        tables=[stream_tables(report) if len(report.streams) > 1 else [] for report in reports],
        erasure=erasure(runs, names),
        histograms=histograms(runs, totals, names),
        columns=_columns(pairs, names),
        listed=_listed(pairs, drawn),
        drawn=list(drawn.values()),
        traces=[section(trace, number) for number, trace in enumerate(traces, 1)],
        count=len(pairs),
    )
