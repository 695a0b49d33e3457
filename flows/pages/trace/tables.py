"""A trace for a terminal: its updates with their counts, and the outputs in the colours of their origins."""

from collections.abc import Sequence

from rich.text import Text

from flows.pages.table import Table, console, print_table
from flows.pages.trace.page import signature, summary
from flows.pages.trace.picture import LETTERS, MEANINGS, Labels, name, safe
from operators.decoding.forward import Origin
from operators.decoding.trace import Trace, UpdateTrace
from operators.errors import printable

# Columns of output that goes to a file: wide enough for the table.
_STYLES = {
    Origin.COMMITTED: "dim",
    Origin.DRAFT: "blue",
    Origin.RECYCLED: "yellow",
    Origin.LOOKED_UP: "magenta",
    Origin.PARALLEL: "green",
    Origin.MODEL: "cyan",
    Origin.OWN: "bold",
}


def print_trace(trace: Trace, written: Sequence[object]) -> None:
    """Print a trace for a person, and which files were written."""
    out = console(width=160)
    labels = Labels(trace.pieces)
    print_table(out, _counts(trace))
    for update in trace.updates:
        out.print(_output(update, labels), soft_wrap=True)
    out.print()
    occur = {token.origin for update in trace.updates for token in update.tokens}
    for origin in (one for one in Origin if one in occur):
        line = Text(f"{LETTERS[origin]:>9}  {MEANINGS[origin]}", style=_STYLES[origin])
        out.print(line, soft_wrap=True)
    out.print(f"{'all':>9}  {summary(trace)}", soft_wrap=True, markup=False)
    if trace.head_tokens:
        times = "once" if trace.head_evaluations == 1 else f"{trace.head_evaluations} times"
        told = f"{trace.head_tokens} tokens, evaluated {times} for all segments, then reused"
        out.print(f"{'head':>9}  {told}", soft_wrap=True, markup=False)
    out.print(f"{'signature':>9}  {printable(signature(trace))}", soft_wrap=True, markup=False)
    for path in written:
        out.print(f"{'written':>9}  {printable(str(path))}", soft_wrap=True, markup=False)


def _counts(trace: Trace) -> Table:
    return Table(
        f"How segment {trace.segment} of {safe(trace.stream)} was decoded",
        (
            "update",
            "passes",
            "evaluated",
            "reused",
            "kept",
            "rows",
            "tokens",
            *(origin.value for origin in Origin),
        ),
        tuple(_row(update) for update in trace.updates),
    )


def _row(update: UpdateTrace) -> tuple[str, ...]:
    tokens = update.tokens
    passes = [one for window in update.windows for one in window.passes]
    counts = (
        len(passes),
        sum(one.evaluated for one in passes),
        sum(window.passes[0].reused for window in update.windows if window.passes),
        sum(one.kept for one in passes),
        sum(len(one.rows) for one in passes),
        len(tokens),
        *(sum(token.origin is origin for token in tokens) for origin in Origin),
    )
    return name(update), *(str(count) for count in counts)


def _output(update: UpdateTrace, labels: Labels) -> Text:
    """The output, with the letter of each origin before its tokens."""
    line = Text(f"{name(update):>9} ")
    before: Origin | None = None
    for token in update.tokens:
        label = labels.of(token.id)
        if token.origin is not before:
            line.append(f" {LETTERS[token.origin]}:", "dim")
            before = token.origin
        line.append((" " if label.begins else "") + label.text, _STYLES[token.origin])
    return line
