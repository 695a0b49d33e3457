"""The page itself: everything put together into one file that asks nobody for anything."""

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from connectors.whole_file import write_whole
from flows.report_page import listing, segments
from flows.report_page.cards import cards
from flows.report_page.gather import Gathered
from flows.report_page.histograms import histograms
from flows.report_page.plots import erasure
from flows.report_tables import stream_tables
from operators.metrics.figures import Report
from operators.text_layout import cleaned


def write_page(runs: Sequence[tuple[Gathered, Report]], path: Path) -> None:
    """Write the page about one run, or about two; raises `OutputError`."""
    made = page([gathered for gathered, _ in runs], [report for _, report in runs])
    write_whole(path, made.encode())


def page(runs: Sequence[Gathered], reports: Sequence[Report]) -> str:
    """The page as HTML. The same files give the same page."""
    names = ["A", "B"] if len(runs) > 1 else ["The run"]
    totals = [report.total for report in reports]
    pairs = segments.matched(reports)
    drawn = segments.opened(pairs, runs, names)
    script, style = _file("page.js"), _file("page.css")
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(_file("page.html")).render(
        policy=f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'",
        # Ours, and the same for every page: nothing from a file is ever put into them.
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
        count=len(pairs),
    )


def _file(name: str) -> str:
    return files("flows.report_page").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
