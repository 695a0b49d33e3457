"""The plot of a load: how late captions are with each number of rooms, and whether delay or memory grow."""

from collections.abc import Sequence

from markupsafe import Markup

from flows.loadgen.rows import Row
from flows.pages.svg import Scale, drawing, line, rect, tag, text, ticks

_WIDTH, _HEIGHT = 960.0, 340.0
_TOP, _BOTTOM = 56.0, 290.0
_LEFT, _MIDDLE, _RIGHT = Scale(0, 1, 70, 440), Scale(0, 1, 550, 850), Scale(0, 1, 1030, 1330)
# The picture is wider where the memory is known.
_WIDE = 1360.0
_INK, _QUIET, _GRID = "#1b1a17", "#625e55", "#e4dfd4"
# Okabe and Ito's colours, which colour-blind people can distinguish.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#595959")


_Points = Sequence[tuple[float, float]]


def plot(rows: Sequence[Row]) -> str:
    """The picture as an SVG file."""
    delays, memory = [row.over_time for row in rows], [row.memory_over_time for row in rows]
    scale = _up_to([*(row.p95_ms or 0.0 for row in rows), *_values(delays)])
    width = _WIDE if any(memory) else _WIDTH
    parts = [
        rect(0, 0, width, _HEIGHT, fill="#ffffff"),
        *_panel("Delay of captions, ms, by rooms", _LEFT, scale),
        *_by_rooms(rows, scale),
        *_panel("Median delay over time, ms", _MIDDLE, scale),
        *_over_time(rows, delays, _MIDDLE, scale),
        *_names(rows),
    ]
    if any(memory):
        above = _up_to(_values(memory))
        parts += [*_panel("Memory over time, MB", _RIGHT, above), *_over_time(rows, memory, _RIGHT, above)]
    label = "; ".join(f"{row.rooms} rooms: p50 {row.p50_ms} ms, p95 {row.p95_ms} ms" for row in rows)
    picture = drawing(width, _HEIGHT, parts, label, "load")
    head = '<svg xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" font-size="13"'
    return f"{str(picture).replace('<svg', head, 1)}\n"


def _values(lines: Sequence[_Points]) -> list[float]:
    return [value for points in lines for _, value in points]


def _up_to(values: Sequence[float]) -> Scale:
    return Scale(0.0, 1.05 * max(1.0, *values, 0.0), _BOTTOM, _TOP)


def _panel(title: str, across: Scale, scale: Scale) -> list[Markup]:
    parts = [text(across.begin, 28, title, fill=_INK, font_size=15)]
    for value in ticks(0.0, scale.high):
        y = scale.at(value)
        parts += [
            line(across.begin, y, across.end, y, stroke=_GRID),
            text(across.begin - 8, y + 4, f"{value:g}", fill=_QUIET, text_anchor="end"),
        ]
    return parts


def _by_rooms(rows: Sequence[Row], scale: Scale) -> list[Markup]:
    width = (_LEFT.end - _LEFT.begin) / max(1, len(rows))
    bar = min(40.0, width / 3)
    parts = []
    for place, row in enumerate(rows):
        middle = _LEFT.begin + (place + 0.5) * width
        for offset, (name, value) in enumerate((("p50", row.p50_ms), ("p95", row.p95_ms))):
            if value is None:
                continue
            x, y = middle + (offset - 1) * bar, scale.at(value)
            parts += [
                rect(x, y, bar - 2, _BOTTOM - y, fill=_COLOURS[offset]),
                text(x + bar / 2 - 1, y - 5, name, fill=_QUIET, text_anchor="middle", font_size=11),
            ]
        parts.append(text(middle, _BOTTOM + 22, str(row.rooms), fill=_INK, text_anchor="middle"))
    return parts


def _over_time(rows: Sequence[Row], lines: Sequence[_Points], panel: Scale, scale: Scale) -> list[Markup]:
    across = Scale(0.0, max([1.0, *(row.seconds for row in rows)]), panel.begin, panel.end)
    parts = [
        text(across.at(value), _BOTTOM + 22, f"{value:g} s", fill=_QUIET, text_anchor="middle")
        for value in ticks(0.0, across.high, 4)
    ]
    for place, points in enumerate(lines):
        if not points:
            continue
        colour = _COLOURS[place % len(_COLOURS)]
        where = [(across.at(at), scale.at(value)) for at, value in points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in where)
        parts.append(tag("polyline", points=path, fill="none", stroke=colour, stroke_width=2))
        parts += [tag("circle", cx=x, cy=y, r=2.5, fill=colour) for x, y in where]
    return parts


def _names(rows: Sequence[Row]) -> list[Markup]:
    """The colours of the lines, in a column, because ends of lines may meet."""
    parts, free = [], _TOP
    for place, row in enumerate(rows):
        rooms = f"{row.rooms} room{'' if row.rooms == 1 else 's'}"
        parts += [
            rect(866, free, 12, 4, fill=_COLOURS[place % len(_COLOURS)]),
            text(884, free + 6, rooms, fill=_INK),
        ]
        free += 20
    return parts
