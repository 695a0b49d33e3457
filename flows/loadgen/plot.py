"""The plot of a load: how late captions are with each number of rooms, and whether they get later."""

from collections.abc import Sequence

from markupsafe import Markup

from flows.loadgen.rows import Row
from flows.pages.svg import Scale, drawing, line, rect, tag, text, ticks

_WIDTH, _HEIGHT = 960.0, 340.0
_TOP, _BOTTOM = 56.0, 290.0
_LEFT, _RIGHT = Scale(0, 1, 70, 440), Scale(0, 1, 550, 850)
_INK, _QUIET, _GRID = "#1b1a17", "#625e55", "#e4dfd4"
# Okabe and Ito's colours, which colour-blind people can distinguish.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#595959")


def plot(rows: Sequence[Row]) -> str:
    """The picture as an SVG file."""
    high = max([1.0, *(row.p95_ms or 0.0 for row in rows), *(ms for row in rows for _, ms in row.over_time)])
    scale = Scale(0.0, 1.05 * high, _BOTTOM, _TOP)
    parts = [
        rect(0, 0, _WIDTH, _HEIGHT, fill="#ffffff"),
        *_panel("Delay of captions, ms, by rooms", _LEFT, scale),
        *_by_rooms(rows, scale),
        *_panel("Median delay over time, ms", _RIGHT, scale),
        *_over_time(rows, scale),
    ]
    label = "; ".join(f"{row.rooms} rooms: p50 {row.p50_ms} ms, p95 {row.p95_ms} ms" for row in rows)
    picture = drawing(_WIDTH, _HEIGHT, parts, label, "load")
    head = '<svg xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" font-size="13"'
    return f"{str(picture).replace('<svg', head, 1)}\n"


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


def _over_time(rows: Sequence[Row], scale: Scale) -> list[Markup]:
    across = Scale(0.0, max([1.0, *(row.seconds for row in rows)]), _RIGHT.begin, _RIGHT.end)
    parts = [
        text(across.at(value), _BOTTOM + 22, f"{value:g} s", fill=_QUIET, text_anchor="middle")
        for value in ticks(0.0, across.high, 4)
    ]
    free = _TOP
    for place, row in enumerate(rows):
        colour = _COLOURS[place % len(_COLOURS)]
        points = [(across.at(at), scale.at(ms)) for at, ms in row.over_time]
        if not points:
            continue
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(tag("polyline", points=path, fill="none", stroke=colour, stroke_width=2))
        parts += [tag("circle", cx=x, cy=y, r=2.5, fill=colour) for x, y in points]
        # Names stand in a column, because ends of lines may meet.
        rooms = f"{row.rooms} room{'' if row.rooms == 1 else 's'}"
        parts += [rect(866, free, 12, 4, fill=colour), text(884, free + 6, rooms, fill=_INK)]
        free += 20
    return parts
