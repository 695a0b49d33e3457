"""A trace as a self-contained page, without scripts and external requests."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
from markupsafe import Markup

from connectors.files.atomic import write_atomically
from flows.pages.document import packaged, policy, render
from flows.pages.trace.files import method_of
from flows.pages.trace.graph import graph
from flows.pages.trace.grid import FORMS, grid
from flows.pages.trace.picture import LETTERS, MEANINGS, Labels, kind, name, overview, safe, style_sheet
from flows.settings.schema import TranslateSettings
from operators.decoding.forward import Origin
from operators.decoding.trace import Decoding, Trace, UpdateTrace

#: Maximum number of updates that are drawn: the last ones.
MAX_DRAWN = 100


class TokenRow(NamedTuple):
    """A token in words."""

    place: int
    token: str
    origin: str
    decided: str
    p: str
    choice: str
    p_choice: str


def section(trace: Trace, number: int) -> Markup:
    """The section; ``number`` distinguishes it from others of the page."""
    labels = Labels(trace.pieces)
    drawn = trace.updates[-MAX_DRAWN:]
    opened = max(range(len(drawn)), key=lambda place: _interest(drawn[place]), default=0)
    tokens = [token for update in drawn for token in update.tokens]
    occur = {token.origin for token in tokens}
    made = render(
        "flows.pages.trace",
        "section.html",
        id=number,
        trace=trace,
        stream=safe(trace.stream),
        how=f"{method_of(trace)}, {safe(trace.model)}",
        words=summary(trace),
        origins=[
            {"kind": kind(origin), "letter": LETTERS[origin], "meaning": MEANINGS[origin]}
            for origin in Origin
            if origin in occur
        ],
        forms=list(FORMS.values()),
        overview=overview(drawn, labels).inline(),
        left_out=len(trace.updates) - len(drawn),
        updates=[
            {
                "name": name(update),
                "words": update_words(update),
                "source": safe(update.source),
                "text": safe(update.text),
                "is_open": place == opened,
                "windows": list(_windows(update, labels)),
            }
            for place, update in enumerate(drawn)
        ],
    )
    # Rendered with all outside input escaped.
    return Markup(made)


def summary(trace: Trace) -> str:
    """The figures of a trace in a sentence."""
    windows = [window for update in trace.updates for window in update.windows if window.passes]
    passes = [one for window in windows for one in window.passes]
    tokens = sum(len(window.output) for window in windows)
    rate = f", {tokens / len(passes):.1f} a pass" if passes else ""
    return (
        f"{len(trace.updates)} updates, {tokens} tokens in {len(passes)} passes{rate}; "
        f"{sum(one.evaluated for one in passes)} tokens evaluated, "
        f"{sum(one.kept for one in passes)} kept, {sum(len(one.rows) for one in passes)} rows of logits"
    )


def update_words(update: UpdateTrace) -> str:
    """The outcomes of an update's tokens, counted."""
    tokens = update.tokens
    counts = [(origin, sum(token.origin is origin for token in tokens)) for origin in Origin]
    told = ", ".join(f"{count} {origin.value}" for origin, count in counts if count)
    passes = f"{update.passes} pass{'' if update.passes == 1 else 'es'}"
    return f"{len(tokens)} tokens in {passes}{': ' if told else ''}{told}"


def _interest(update: UpdateTrace) -> tuple[int, int]:
    """How interesting an update is; the most interesting one is open at first."""
    return len({token.origin for token in update.tokens}), update.passes


def _windows(update: UpdateTrace, labels: Labels) -> Iterator[dict[str, object]]:
    for number, window in enumerate(update.windows, 1):
        yield {
            "title": f"Window {number}" if len(update.windows) > 1 else "",
            "grid": grid(window, labels).inline() if window.passes else None,
            "graph": graph(window, labels).inline() if window.passes else None,
            "rows": list(_rows(window, labels)),
        }


def _rows(window: Decoding, labels: Labels) -> Iterator[TokenRow]:
    for place, token in enumerate(window.output):
        one = window.passes[token.decided - 1] if token.decided else None
        row = None if one is None else one.rows[place - one.begin]
        yield TokenRow(
            place=place + 1,
            token=labels.of(token.id).text,
            origin=token.origin.value,
            decided=str(token.decided) if token.decided else "–",
            p="–" if token.p is None else f"{token.p:.2f}",
            choice="–" if row is None else labels.of(row.choice).text,
            p_choice="–" if row is None else f"{row.p_choice:.2f}",
        )


# Settings that are shown even if they have their default values.
_ALWAYS = ("from", "to", "method", "accept")


def write_trace_page(trace: Trace, path: Path) -> None:
    """Write the page; raises `OutputError`."""
    write_atomically(path, trace_page(trace).encode())


def trace_page(trace: Trace) -> str:
    """The page as HTML. The same trace gives the same page."""
    style = packaged("flows.pages", "page.css") + style_sheet()
    return render(
        "flows.pages.trace",
        "page.html",
        policy=policy(style),
        style=Markup(style),
        trace=trace,
        stream=safe(trace.stream),
        section=section(trace, 1),
        signature=signature(trace),
    )


def signature(trace: Trace) -> str:
    """The model, the method, and the settings that differ from their defaults."""
    usual: dict[str, object] = msgspec.to_builtins(TranslateSettings())
    told = "|".join(
        f"{name}:{value}"
        for name, value in trace.settings.items()
        if name in _ALWAYS or (value is not None and value != usual.get(name))
    )
    return safe(f"{trace.model}|{told}|surtitle:{trace.surtitle}")
