"""Writes the pictures of a trace as separate files, each with a heading and a legend."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from markupsafe import Markup

from connectors.files.atomic import write_atomically
from flows.pages.document import rect, tag, text
from flows.pages.trace.graph import graph
from flows.pages.trace.grid import FORMS, cells, grid
from flows.pages.trace.picture import (
    LETTERS,
    MEANINGS,
    SMALL,
    Labels,
    Picture,
    kind,
    name,
    overview,
    safe,
    shortened,
)
from operators.decoding.forward import Origin
from operators.decoding.trace import Decoding, Trace

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
        *((origin.value, MEANINGS[origin]) for origin in Origin if origin in occur),
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
    if what in ("leaned", "cut-off"):
        return [rect(x, y, 20, 14, rx=3.0, class_=f"cell own {what}")]
    origin = Origin(what)
    return [
        rect(x, y, 20, 14, rx=3.0, class_=f"cell {kind(origin)}"),
        text(x + 10, y + 10, LETTERS[origin], class_=f"letter {kind(origin)}", text_anchor="middle"),
    ]
