"""The figures of a report: as tables for a terminal, and for the head of a page."""

from collections.abc import Sequence
from functools import partial

from flows.pages.table import Column, Table, console, print_named, print_table, snippet, tabulated
from operators.metrics.report import Report, SegmentFigures, StreamFigures
from operators.metrics.summary import LatencyParts, Percentiles
from operators.text import cleaned

_MAX_WORST = 5
_MAX_SNIPPET = 48


def print_report(report: Report, written: Sequence[object]) -> None:
    out, has_text = console(), report.kind == "caption"
    tables = stream_tables(report)
    if report.segments:
        by = "the mean lag of their tokens" if has_text else "the greatest latency from speech"
        worst = sorted(report.segments, key=_wait_s, reverse=True)[:_MAX_WORST]
        columns = [*_SEGMENT, *(_SEGMENT_TEXT if has_text else ())]
        tables.append(tabulated(f"Worst segments, by {by}, in seconds", worst, columns))
    for table in tables:
        print_table(out, table)
    if not has_text:
        out.print(
            "An erasure log has no text: AL, LAAL and lag need a file of captions (--captions)",
            soft_wrap=True,
        )
    print_named(out, [("signature", report.signature), *(("written", path) for path in written)])


def _wait_s(one: SegmentFigures) -> float:
    return one.latency_s if one.lag_s is None else one.lag_s


def stream_tables(report: Report) -> list[Table]:
    """Counts, delays, and time by stage: a row for each stream and one for all."""
    rows = report.streams if len(report.streams) == 1 else [report.total, *report.streams]
    tables = {
        "What was shown, and what was erased": _ERASURE,
        "How far captions are behind the speaker, in seconds (CA: computation-aware)": _LAGGING,
        "Where the time from speech to caption went, in milliseconds (p50/p95)": _PARTS,
    }
    return [
        tabulated(title, rows, [_STREAM, *columns])
        for title, columns in tables.items()
        if report.kind == "caption" or columns is not _LAGGING
    ]


def _percentiles(name: str, row: StreamFigures) -> str | None:
    known: Percentiles | None = Column("", name).of(row)
    return None if known is None else f"{known.p50:.0f}/{known.p95:.0f}"


_STREAM = Column("stream", lambda row: "all" if row.stream is None else cleaned(row.stream))
_ERASURE = (
    *(Column(name, name) for name in ("segments", "unfinished", "updates")),
    Column("superseded", "overtaken"),
    Column("NE raw", "ne_raw", 2),
    Column("shown", "ne_shown", 2),
)
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
_DELAYS = {
    "from speech": "latency_from_speech_ms",
    **{part: f"latency_parts_ms.{part}" for part in LatencyParts.__struct_fields__},
}
_PARTS = tuple(Column(heading, partial(_percentiles, name)) for heading, name in _DELAYS.items())
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

#: The figures by which runs are compared; first those where less is better.
_LESS_IS_BETTER = (
    Column("NE shown", "ne_shown", 2),
    Column("NE raw", "ne_raw", 2),
    *(
        Column(f"latency {name}, {share}", f"{field}.{share}", 0, " ms")
        for name, field in (("from speech", "latency_from_speech_ms"), ("from partial", "latency_ms"))
        for share in ("p50", "p95")
    ),
    *(
        Column(f"{part}, {share}", f"latency_parts_ms.{part}.{share}", 0, " ms")
        for part in LatencyParts.__struct_fields__
        for share in ("p50", "p95")
    ),
    Column("lag, mean", "lag.mean_s", 2, " s"),
    Column("lag, p95", "lag.p95_s", 2, " s"),
    Column("superseded", "overtaken", 0),
)
_OTHERS = (
    Column("AL CA", "al.aware_s", 2, " s"),
    Column("AL", "al.unaware_s", 2, " s"),
    Column("LAAL CA", "laal.aware_s", 2, " s"),
    Column("LAAL", "laal.unaware_s", 2, " s"),
    Column("A/D", "accepted_over_drafted", 0, "%"),
    Column("A/O", "accepted_over_output", 0, "%"),
    *(Column(name, name, 0) for name in ("segments", "unfinished", "updates")),
)


def compared(totals: Sequence[StreamFigures], names: Sequence[str]) -> Table:
    """A row for each figure that at least one of the runs has."""
    rows = [
        (column.heading, *map(column.cell, totals), *([_change(column, *totals)] if len(totals) > 1 else []))
        for column in (*_LESS_IS_BETTER, *_OTHERS)
        if any(column.of(total) is not None for total in totals)
    ]
    return Table("Figures", ("figure", *names, *["change"] * (len(totals) > 1)), tuple(rows))


def _change(column: Column, before: StreamFigures, after: StreamFigures) -> str:
    old, new = column.of(before), column.of(after)
    if old is None or new is None or column.cell(before) == column.cell(after):
        return ""
    change = f"{100 * (new - old) / old:+.0f} %" if old > 0 else "changed"
    verdict = f", {'better' if new < old else 'worse'}" if column in _LESS_IS_BETTER else ""
    return change + verdict
