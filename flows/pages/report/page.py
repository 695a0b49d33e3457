"""Builds the page: one self-contained file without external requests."""

from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from connectors.files.atomic import write_atomically
from flows.pages.document import packaged, policy, render
from flows.pages.report import listing, segments
from flows.pages.report.cards import cards
from flows.pages.report.plots import erasure, histograms
from flows.pages.report.reading import Gathered
from flows.pages.report.tables import stream_tables
from flows.pages.trace.page import section
from flows.pages.trace.picture import style_sheet
from operators.decoding.trace import Trace
from operators.metrics.report import Report
from operators.text import cleaned


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
        columns=listing.columns(pairs, names),
        listed=listing.listed(pairs, drawn),
        drawn=list(drawn.values()),
        traces=[section(trace, number) for number, trace in enumerate(traces, 1)],
        count=len(pairs),
    )
