"""The figures of a report: as tables for a terminal, and for the head of a page."""

from collections.abc import Sequence
from functools import partial

from flows.pages.table import Column, Table, console, print_named, print_table, snippet, tabulated
from operators.metrics.report import Report, SegmentFigures, StreamFigures
from operators.metrics.summary import Percentiles
from operators.text import cleaned

_MAX_WORST = 5
_MAX_SNIPPET = 48


def print_report(report: Report, written: Sequence[object]) -> None:
    """Print a report for a person, and which files were written."""
    out = console()
    for table in tables(report):
        print_table(out, table)
    if report.kind == "erasure":
        out.print(
            "An erasure log has no text: AL, LAAL and lag need a file of captions (--captions)",
            soft_wrap=True,
        )
    print_named(out, [("signature", report.signature), *(("written", path) for path in written)])


def tables(report: Report) -> list[Table]:
    """Tables of counts, delays, where the time went, and the worst segments."""
    shown = stream_tables(report)
    if not report.segments:
        return shown
    has_text = report.kind == "caption"
    by = "the mean lag of their tokens" if has_text else "the greatest latency from speech"
    title = f"Worst segments, by {by}, in seconds"
    columns = [*_SEGMENT, *_SEGMENT_TEXT] if has_text else _SEGMENT
    worst = sorted(report.segments, key=_wait_s, reverse=True)[:_MAX_WORST]
    return [*shown, tabulated(title, worst, columns)]


def _wait_s(one: SegmentFigures) -> float:
    return one.latency_s if one.lag_s is None else one.lag_s


def stream_tables(report: Report) -> list[Table]:
    """Tables of counts, delays, and where the time went, with a row for each stream and one for all."""
    rows = report.streams if len(report.streams) == 1 else [report.total, *report.streams]
    return [
        tabulated(title, rows, [_STREAM, *columns])
        for title, columns in _TABLES.items()
        if report.kind == "caption" or columns is not _LAGGING
    ]


def _percentiles(name: str, row: StreamFigures) -> str | None:
    known: Percentiles | None = Column("", name).of(row)
    return None if known is None else f"{known.p50:.0f}/{known.p95:.0f}"


_STREAM = Column("stream", lambda row: "all" if row.stream is None else cleaned(row.stream))
_LAGGING = (
    Column("AL", "al.unaware_s", 2),
    Column("LAAL", "laal.unaware_s", 2),
    Column("AL CA", "al.aware_s", 2),
    Column("LAAL CA", "laal.aware_s", 2),
    Column("lag: mean", "lag.mean_s", 2),
    Column("p50", "lag.p50_s", 2),
    Column("p95", "lag.p95_s", 2),
    Column("first shown: mean", "lag_first.mean_s", 2),
    Column("p50", "lag_first.p50_s", 2),
    Column("p95", "lag_first.p95_s", 2),
)
_TABLES = {
    "What was shown, and what was erased": (
        *(Column(name, name) for name in ("segments", "unfinished", "updates", "overtaken")),
        Column("NE raw", "ne_raw", 2),
        Column("shown", "ne_shown", 2),
    ),
    "How far captions are behind the speaker, in seconds (CA: computation-aware)": _LAGGING,
    "Where the time from speech to caption went, in milliseconds (p50/p95)": (
        Column("from speech", partial(_percentiles, "latency_from_speech_ms")),
        *(
            Column(part, partial(_percentiles, f"latency_parts_ms.{part}"))
            for part in ("recogniser", "queue", "model", "display")
        ),
    ),
}
_SEGMENT = (
    _STREAM,
    Column("segment", "segment"),
    Column("updates", "updates"),
    Column("latency", "latency_s", 2),
    Column("NE shown", "ne_shown", 2),
)
_SEGMENT_TEXT = (
    Column("lag", "lag_s", 2),
    Column("begins at", "start_s", 1),
    Column("text", lambda row: snippet(row.text or "", _MAX_SNIPPET)),
)


#: The figures by which runs are compared, and whether less is better.
_FIGURES = (
    (Column("NE shown", "ne_shown", 2), True),
    (Column("NE raw", "ne_raw", 2), True),
    (Column("latency from speech, p50", "latency_from_speech_ms.p50", 0, " ms"), True),
    (Column("latency from speech, p95", "latency_from_speech_ms.p95", 0, " ms"), True),
    (Column("latency from partial, p50", "latency_ms.p50", 0, " ms"), True),
    (Column("latency from partial, p95", "latency_ms.p95", 0, " ms"), True),
    (Column("lag, mean", "lag.mean_s", 2, " s"), True),
    (Column("lag, p95", "lag.p95_s", 2, " s"), True),
    (Column("AL CA", "al.aware_s", 2, " s"), False),
    (Column("AL", "al.unaware_s", 2, " s"), False),
    (Column("LAAL CA", "laal.aware_s", 2, " s"), False),
    (Column("LAAL", "laal.unaware_s", 2, " s"), False),
    (Column("A/D", "accepted_over_drafted", 0, "%"), False),
    (Column("A/O", "accepted_over_output", 0, "%"), False),
    (Column("segments", "segments", 0), False),
    (Column("unfinished", "unfinished", 0), False),
    (Column("updates", "updates", 0), False),
    (Column("overtaken", "overtaken", 0), True),
)


def compared(totals: Sequence[StreamFigures], names: Sequence[str]) -> Table:
    """A row for each figure that at least one of the runs has."""
    rows = [
        (
            column.heading,
            *map(column.cell, totals),
            *([_change(column, totals, less_is_better)] if len(totals) > 1 else []),
        )
        for column, less_is_better in _FIGURES
        if any(column.of(total) is not None for total in totals)
    ]
    return Table("Figures", ("figure", *names, *["change"] * (len(totals) > 1)), tuple(rows))


def _change(column: Column, totals: Sequence[StreamFigures], less_is_better: bool) -> str:
    before, after = map(column.of, totals)
    told = [column.cell(total) for total in totals]
    if before is None or after is None or told[0] == told[1]:
        return ""
    change = f"{100 * (after - before) / before:+.0f} %" if before > 0 else "changed"
    verdict = f", {'better' if after < before else 'worse'}" if less_is_better else ""
    return change + verdict
