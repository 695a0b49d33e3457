"""A trace for a person: a page without scripts and external requests, files of pictures, tables."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec
from markupsafe import Markup
from rich.text import Text

from connectors.files.atomic import write_atomically
from flows.pages.drawing import packaged, policy, rect, render, tag, text
from flows.pages.table import Column, console, print_named, print_table, tabulated
from flows.pages.trace.output import FORMS, cells, graph, grid
from flows.pages.trace.picture import (
    KINDS,
    SMALL,
    Labels,
    Picture,
    kind,
    name,
    overview,
    safe,
    shortened,
    style_sheet,
)
from flows.settings.translate import TranslateSettings
from operators.decoding.forward import Origin
from operators.decoding.trace import Decoding, Pass, Trace, UpdateTrace

_MARGIN, _HEADING, _LINE = 16.0, 44.0, 20.0


def write_pictures(trace: Trace, folder: Path) -> list[Path]:
    """Write an SVG of the segment, and two of each update; return their paths. Raises `OutputError`."""
    paths = []
    for stem, picture in pictures(trace):
        path = folder / f"{stem}.svg"
        write_atomically(path, picture.file().encode())
        paths.append(path)
    return paths


def pictures(trace: Trace) -> Iterator[tuple[str, Picture]]:
    """The pictures with the names of their files."""
    labels = Labels(trace.pieces)
    title = f"Segment {trace.segment} of {safe(trace.stream)}"
    how = f"{method_of(trace)}, {safe(trace.model)}"
    everything = [window for update in trace.updates for window in update.windows]
    yield "segment", _framed(overview(trace.updates, labels), title, how, _legend(everything))
    for update in trace.updates:
        for number, window in enumerate(update.windows):
            part = f"-{number + 1}" if len(update.windows) > 1 else ""
            stem = f"update-{update.revision:04d}{part}"
            heading = f"{title}, {name(update)}"
            if window.passes:
                legend, said = _legend([window]), safe(update.source)
                forms = _forms(window)
                yield f"{stem}-grid", _framed(grid(window, labels), heading, how, [*legend, *forms], said)
                yield f"{stem}-graph", _framed(graph(window, labels), heading, how, legend, said)


def method_of(trace: Trace) -> str:
    """The name of the method."""
    return safe(str(trace.settings.get("method", "")))


def _legend(windows: Sequence[Decoding]) -> list[tuple[str, str]]:
    occur = {token.origin for window in windows for token in window.output}
    return [
        *((origin.value, KINDS[origin].meaning) for origin in Origin if origin in occur),
        ("bar", "its probability"),
    ]


def _forms(window: Decoding) -> list[tuple[str, str]]:
    occur = {cell.state for places in cells(window) for cell in places.values()}
    return [form for state, form in FORMS.items() if state in occur]


def _framed(
    inner: Picture, title: str, how: str, legend: Sequence[tuple[str, str]], said: str = ""
) -> Picture:
    """A picture with its heading, the text that was translated, and its legend."""
    letters = int(inner.width / SMALL)
    top = _HEADING + (_LINE if said else 0.0)
    parts = [
        text(_MARGIN, 20, shortened(title, letters - 20), class_="token head"),
        text(_MARGIN, 36, shortened(f"{inner.label}; {how}", letters), class_="small"),
        text(_MARGIN, top + 12 - _LINE, shortened(said, letters - 10, end=True), class_="said"),
        tag("g", Markup("").join(inner.parts), transform=f"translate({_MARGIN:g} {top:g})"),
    ]
    x, y = _MARGIN, top + inner.height + 14
    for what, meaning in legend:
        wide = 30 + SMALL * len(meaning) + 14
        if x > _MARGIN and x + wide > inner.width + _MARGIN:
            x, y = _MARGIN, y + _LINE
        parts += _key(what, x, y)
        parts.append(text(x + 26, y + 11, meaning))
        x += wide
    return Picture(
        inner.width + 2 * _MARGIN, y + _LINE + _MARGIN / 2, tuple(parts), f"{title}. {inner.label}"
    )


def _key(what: str, x: float, y: float) -> list[Markup]:
    if what == "fell":
        return [text(x, y + 11, "word", class_="small fell")]
    if what == "end":
        return [rect(x + 7, y + 3, 8, 8, class_="end")]
    if what == "bar":
        return [rect(x, y + 10, 20, 1.5, class_="end")]
    if what == "guess":
        return [rect(x, y, 20, 14, rx=3.0, class_="guess")]
    if what in ("leaned", "searched", "cut-off"):
        return [rect(x, y, 20, 14, rx=3.0, class_=f"cell own {what}")]
    origin = Origin(what)
    return [
        rect(x, y, 20, 14, rx=3.0, class_=f"cell {kind(origin)}"),
        text(x + 10, y + 10, KINDS[origin].letter, class_=f"letter {kind(origin)}", text_anchor="middle"),
    ]


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
            {"kind": kind(origin), "letter": KINDS[origin].letter, "meaning": KINDS[origin].meaning}
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
    counts = [(origin, _of_origin(origin, update)) for origin in Origin]
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


def _passes(update: UpdateTrace) -> list[Pass]:
    return [one for window in update.windows for one in window.passes]


def _of_origin(origin: Origin, update: UpdateTrace) -> int:
    return sum(token.origin is origin for token in update.tokens)


_COUNTS = (
    Column("update", name),
    Column("passes", lambda update: len(_passes(update))),
    Column("evaluated", lambda update: sum(one.evaluated for one in _passes(update))),
    Column("reused", lambda update: sum(one.passes[0].reused for one in update.windows if one.passes)),
    Column("kept", lambda update: sum(one.kept for one in _passes(update))),
    Column("rows", lambda update: sum(len(one.rows) for one in _passes(update))),
    Column("tokens", lambda update: len(update.tokens)),
    *(Column(origin.value, partial(_of_origin, origin)) for origin in Origin),
)


def print_trace(trace: Trace, written: Sequence[object]) -> None:
    """Print a trace for a person, and which files were written."""
    out = console()
    labels = Labels(trace.pieces)
    title = f"How segment {trace.segment} of {safe(trace.stream)} was decoded"
    print_table(out, tabulated(title, trace.updates, _COUNTS))
    for update in trace.updates:
        out.print(_output(update, labels), soft_wrap=True)
    out.print()
    occur = {token.origin for update in trace.updates for token in update.tokens}
    for origin in (one for one in Origin if one in occur):
        line = Text(f"{KINDS[origin].letter:>9}  {KINDS[origin].meaning}", style=KINDS[origin].style)
        out.print(line, soft_wrap=True)
    told = [("all", summary(trace))]
    if trace.head_tokens:
        times = "once" if trace.head_evaluations == 1 else f"{trace.head_evaluations} times"
        told.append(("head", f"{trace.head_tokens} tokens, evaluated {times} for all segments, then reused"))
    print_named(out, [*told, ("signature", signature(trace)), *(("written", path) for path in written)])


def _output(update: UpdateTrace, labels: Labels) -> Text:
    """The output, with the letter of each origin before its tokens."""
    line = Text(f"{name(update):>9} ")
    before: Origin | None = None
    for token in update.tokens:
        label = labels.of(token.id)
        if token.origin is not before:
            line.append(f" {KINDS[token.origin].letter}:", "dim")
            before = token.origin
        line.append((" " if label.begins else "") + label.text, KINDS[token.origin].style)
    return line
