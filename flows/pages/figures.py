"""The figures of a report: as tables for a terminal, and as the cards of a page."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from flows.pages.table import Column, Table, console, print_named, print_table, snippet, tabulated
from operators.metrics.report import Report, StreamFigures, worst
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
    return [*shown, tabulated(title, worst(report.segments, _MAX_WORST), columns)]


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


class Card(NamedTuple):
    """One figure of each run."""

    name: str
    meaning: str
    values: tuple[str, ...]
    #: Change from the first run to the second; empty if there is nothing to say.
    change: str = ""
    #: ``better``, ``worse``, or empty.
    verdict: str = ""


_ONE_LATER = "one update in twenty came later"
_FAST = "the same on an infinitely fast machine"
_LAG = "of each token behind an even speaker, until it was final"
_SPEECH = "from the end of the speech to its caption"
_PARTIAL = "from the recogniser’s hypothesis to its caption"
#: Each figure, what it means, and whether a decrease is better; if not, a change is not judged.
_FIGURES = (
    (Column("NE shown", "ne_shown", 2), "tokens erased after they were shown, per final token", True),
    (Column("NE raw", "ne_raw", 2), "of the whole translations, withheld or not", True),
    (Column("latency from speech, p50", "latency_from_speech_ms.p50", 0, " ms"), _SPEECH, True),
    (Column("latency from speech, p95", "latency_from_speech_ms.p95", 0, " ms"), _ONE_LATER, True),
    (Column("latency from partial, p50", "latency_ms.p50", 0, " ms"), _PARTIAL, True),
    (Column("latency from partial, p95", "latency_ms.p95", 0, " ms"), _ONE_LATER, True),
    (Column("lag, mean", "lag.mean_s", 2, " s"), _LAG, True),
    (Column("lag, p95", "lag.p95_s", 2, " s"), "one token in twenty came later", True),
    (Column("AL CA", "al.aware_s", 2, " s"), "average lagging, the machine’s time included", False),
    (Column("AL", "al.unaware_s", 2, " s"), _FAST, False),
    (Column("LAAL CA", "laal.aware_s", 2, " s"), "length-adaptive average lagging", False),
    (Column("LAAL", "laal.unaware_s", 2, " s"), _FAST, False),
    (Column("A/D", "accepted_over_drafted", 0, "%"), "of the draft tokens were accepted", False),
    (Column("A/O", "accepted_over_output", 0, "%"), "of the output came from drafts", False),
    (Column("segments", "segments", 0), "finished ones", False),
    (Column("updates", "updates", 0), "of all segments", False),
    (Column("overtaken", "overtaken", 0), "updates that newer ones overtook", True),
    (Column("unfinished", "unfinished", 0), "segments whose final is missing", False),
)


def cards(totals: Sequence[StreamFigures]) -> list[Card]:
    """The figures that at least one of the runs has."""
    made = []
    for column, meaning, less_is_better in _FIGURES:
        values = [column.of(total) for total in totals]
        if all(value is None for value in values) or (column.heading == "unfinished" and not any(values)):
            continue
        told = tuple(_shown(column, total) for total in totals)
        made.append(Card(column.heading, meaning, told, *_change(values, told, less_is_better)))
    return made


def _shown(column: Column, total: StreamFigures) -> str:
    value = column.of(total)
    return f"{value:,}".replace(",", "\u202f") if isinstance(value, int) else column.cell(total)


def _change(values: Sequence[float | None], told: Sequence[str], less_is_better: bool) -> tuple[str, str]:
    if len(values) < 2:
        return "", ""
    before, after = values
    if before is None or after is None:
        return "", ""
    if told[0] == told[1]:
        return "the same", ""
    change = f"{100 * (after - before) / before:+.0f} %".replace("-", "−") if before > 0 else "changed"
    if not less_is_better:
        return change, ""
    verdict = "better" if after < before else "worse"
    return f"{change}, {verdict}", verdict
