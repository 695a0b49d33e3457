"""Builds the page: one self-contained file without external requests."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from markupsafe import Markup

from connectors.files.atomic import write_atomically
from flows.pages.drawing import packaged, policy, render
from flows.pages.report import segments
from flows.pages.report.figures import cards, stream_tables
from flows.pages.report.plots import erasure, histograms
from flows.pages.report.reading import Gathered
from flows.pages.report.segments import Pair, SegmentDetail, verdict
from flows.pages.table import Column, snippet
from flows.pages.trace.page import section
from flows.pages.trace.picture import style_sheet
from operators.decoding.trace import Trace
from operators.metrics.report import Report, SegmentFigures
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


#: The figures of a segment in each run.
_COLUMNS = (
    Column("updates", "updates", 0),
    Column("erased", "erased", 0),
    Column("NE shown", "ne_shown", 2),
    Column("NE raw", "ne_raw", 2),
    Column("latency", "latency_s", 2, " s"),
    Column("lag", "lag_s", 2, " s"),
)


class Listed(NamedTuple):
    """A column of the table of segments."""

    heading: str
    cell: Callable[[Pair], TableCell]


def _listed_columns(pairs: Sequence[Pair], names: Sequence[str]) -> Iterator[Listed]:
    """The columns of the table, except the first and the last."""
    is_timed, is_pair = any(pair.any.start_s is not None for pair in pairs), len(names) > 1
    if is_timed:
        begins = Column("begins", "start_s", 1, " s")
        yield Listed(begins.heading, lambda pair: _cell(begins, pair.any))
    for column in _COLUMNS:
        if (column.heading == "lag" and not is_timed) or (column.heading == "NE raw" and is_pair):
            continue
        for place, name in enumerate(names):
            heading = f"{column.heading} {name}" if is_pair else column.heading
            yield Listed(heading, partial(_figure, column, place))
        if column.heading == "erased" and is_pair:
            yield Listed("difference", _difference)


def _figure(column: Column, place: int, pair: Pair) -> TableCell:
    return _cell(column, pair.figures[place])


def _cell(column: Column, one: SegmentFigures | None) -> TableCell:
    value = column.of(one)
    return TableCell(column.cell(one), "" if value is None else value)


def _difference(pair: Pair) -> TableCell:
    difference = pair.difference
    told = "–" if difference is None else f"{difference:+d}".replace("-", "−") if difference else "0"
    return TableCell(told, "" if difference is None else difference, verdict(difference))


def _listed(
    pairs: Sequence[Pair], drawn: Mapping[int, SegmentDetail], columns: Sequence[Listed]
) -> list[ListedSegment]:
    """The rows of the table."""
    return [
        ListedSegment(
            id=drawn[place].id if place in drawn else None,
            name=pair.name,
            order=place,
            cells=tuple(column.cell(pair) for column in columns),
            text=snippet(pair.any.text or ""),
        )
        for place, pair in enumerate(pairs[:MAX_LISTED])
    ]


def write_page(runs: Sequence[tuple[Gathered, Report]], path: Path, traces: Sequence[Trace] = ()) -> None:
    """Write the page about one run, or about two, and ``traces`` of segments; raises `OutputError`."""
    made = page([gathered for gathered, _ in runs], [report for _, report in runs], traces)
    write_atomically(path, made.encode())


def page(runs: Sequence[Gathered], reports: Sequence[Report], traces: Sequence[Trace] = ()) -> str:
    """The page as HTML. The same files give the same page."""
    names = ["A", "B"] if len(runs) > 1 else ["The run"]
    totals = [report.total for report in reports]
    pairs = segments.matched(reports)
    drawn, columns = segments.opened(pairs, runs, names), list(_listed_columns(pairs, names))
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
        columns=[column.heading for column in columns],
        listed=_listed(pairs, drawn, columns),
        drawn=list(drawn.values()),
        traces=[section(trace, number) for number, trace in enumerate(traces, 1)],
        count=len(pairs),
    )
