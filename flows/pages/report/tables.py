"""A report's tables for a terminal."""

from collections.abc import Sequence

from flows.pages.table import Table, console, number, print_table
from operators.errors import printable
from operators.metrics.report import Lag, Report, SegmentFigures, StreamFigures, worst
from operators.metrics.summary import Percentiles
from operators.text import cleaned

# Columns of output that goes to a file: wide enough for every table.
_MAX_WORST = 5
_MAX_SNIPPET = 48


def print_report(report: Report, written: Sequence[object]) -> None:
    """Print a report for a person, and which files were written."""
    out = console(width=160)
    for table in tables(report):
        print_table(out, table)
    if report.kind == "erasure":
        out.print(
            "An erasure log has no text: AL, LAAL and lag need a file of captions (--captions)",
            soft_wrap=True,
        )
    out.print(f"{'signature':>9}  {printable(report.signature)}", soft_wrap=True, markup=False)
    for path in written:
        out.print(f"{'written':>9}  {printable(str(path))}", soft_wrap=True, markup=False)


def tables(report: Report) -> list[Table]:
    """Tables of counts, delays, where the time went, and the worst segments."""
    shown = stream_tables(report)
    if report.segments:
        shown.append(_worst(worst(report.segments, _MAX_WORST), report.kind))
    return shown


def stream_tables(report: Report) -> list[Table]:
    """Tables of counts, delays, and where the time went, with a row for each stream and one for all."""
    rows = report.streams if len(report.streams) == 1 else [report.total, *report.streams]
    shown = [_counts(rows)]
    if report.kind == "caption":
        shown.append(_lagging(rows))
    shown.append(_parts(rows))
    return shown


def _counts(rows: Sequence[StreamFigures]) -> Table:
    return Table(
        "What was shown, and what was erased",
        ("stream", "segments", "unfinished", "updates", "overtaken", "NE raw", "shown"),
        tuple(
            (
                _name(row),
                *(str(count) for count in (row.segments, row.unfinished, row.updates, row.overtaken)),
                number(row.ne_raw, 2),
                number(row.ne_shown, 2),
            )
            for row in rows
        ),
    )


def _lagging(rows: Sequence[StreamFigures]) -> Table:
    return Table(
        "How far captions are behind the speaker, in seconds (CA: computation-aware)",
        (
            "stream",
            "AL",
            "LAAL",
            "AL CA",
            "LAAL CA",
            "lag: mean",
            "p50",
            "p95",
            "first shown: mean",
            "p50",
            "p95",
        ),
        tuple(
            (
                _name(row),
                number(row.al.unaware_s, 2),
                number(row.laal.unaware_s, 2),
                number(row.al.aware_s, 2),
                number(row.laal.aware_s, 2),
                *_lag(row.lag),
                *_lag(row.lag_first),
            )
            for row in rows
        ),
    )


def _parts(rows: Sequence[StreamFigures]) -> Table:
    return Table(
        "Where the time from speech to caption went, in milliseconds (p50/p95)",
        ("stream", "from speech", "recogniser", "queue", "model", "display"),
        tuple(
            (
                _name(row),
                *(
                    _percentiles(part)
                    for part in (
                        row.latency_from_speech_ms,
                        row.latency_parts_ms.recogniser,
                        row.latency_parts_ms.queue,
                        row.latency_parts_ms.model,
                        row.latency_parts_ms.display,
                    )
                ),
            )
            for row in rows
        ),
    )


def _worst(segments: Sequence[SegmentFigures], kind: str) -> Table:
    if kind == "erasure":
        return Table(
            "Worst segments, by the greatest latency from speech, in seconds",
            ("stream", "segment", "updates", "latency", "NE shown"),
            tuple(_always(one) for one in segments),
        )
    return Table(
        "Worst segments, by the mean lag of their tokens, in seconds",
        ("stream", "segment", "updates", "latency", "NE shown", "lag", "begins at", "text"),
        tuple(
            (*_always(one), number(one.lag_s, 2), number(one.start_s, 1), _snippet(one.text or ""))
            for one in segments
        ),
    )


def _always(one: SegmentFigures) -> tuple[str, ...]:
    """The columns of a segment that are known for every type of file."""
    counts = cleaned(one.stream), str(one.segment), str(one.updates)
    return *counts, f"{one.latency_s:.2f}", f"{one.ne_shown:.2f}"


def _name(row: StreamFigures) -> str:
    return "all" if row.stream is None else cleaned(row.stream)


def _lag(lag: Lag | None) -> tuple[str, str, str]:
    return ("–", "–", "–") if lag is None else (f"{lag.mean_s:.2f}", f"{lag.p50_s:.2f}", f"{lag.p95_s:.2f}")


def _percentiles(value: Percentiles | None) -> str:
    return "–" if value is None else f"{value.p50:.0f}/{value.p95:.0f}"


def _snippet(text: str) -> str:
    text = cleaned(text)
    return text if len(text) <= _MAX_SNIPPET else text[: _MAX_SNIPPET - 1].rstrip() + "…"
