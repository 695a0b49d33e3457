"""Building blocks of pages: packaged files; SVG, and plots of it.

All content of a picture is escaped here, once. Plots that are files are panels beside each other, with lines,
bars and points.
"""

from collections.abc import Iterable, Sequence
from importlib.resources import files
from math import floor, isfinite, log10
from typing import NamedTuple

from markupsafe import Markup, escape


def packaged(name: str) -> str:
    """A file of this package."""
    return files("flows.pages").joinpath(name).read_text(encoding="utf-8")


#: The namespace of files of pictures.
SVG = "http://www.w3.org/2000/svg"


class Scale(NamedTuple):
    """Maps values from 0 or ``low`` upwards to a range of the picture."""

    low: float
    high: float
    begin: float
    end: float

    def at(self, value: float) -> float:
        """The position of a value; a value beyond the scale is placed at its end."""
        share = (value - self.low) / ((self.high - self.low) or 1.0)
        return self.begin + min(1.0, max(0.0, share)) * (self.end - self.begin)


def tag(name: str, inner: str | Markup = "", /, **attributes: object) -> Markup:
    """An element. Numbers are rounded; ``_`` in a name becomes ``-``, and a trailing one is removed."""
    told = Markup("").join(
        Markup(' {}="{}"').format(key.rstrip("_").replace("_", "-"), value_of(value))
        for key, value in attributes.items()
        if value is not None
    )
    # The name is our own; a text that is not markup yet is escaped.
    return Markup(f"<{name}") + told + Markup(">") + escape(inner) + Markup(f"</{name}>")


def rect(x: float, y: float, width: float, height: float, **attributes: object) -> Markup:
    """A rectangle, never too thin to be seen."""
    return tag("rect", x=x, y=y, width=max(width, 0.5), height=max(height, 0.5), **attributes)


def line(x1: float, y1: float, x2: float, y2: float, **attributes: object) -> Markup:
    """A straight line."""
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, **attributes)


def text(x: float, y: float, words: str, **attributes: object) -> Markup:
    """A text; ``y`` is its baseline."""
    return tag("text", words, x=x, y=y, **attributes)


def drawing(
    width: float, height: float, parts: Iterable[Markup], label: str, kind: str, /, **more: object
) -> Markup:
    """A picture with its text alternative; a file needs the namespace `SVG` as its ``xmlns``."""
    box = f"0 0 {width:g} {height:g}"
    return tag("svg", Markup("").join(parts), **more, viewBox=box, role="img", aria_label=label, class_=kind)


def ticks(low: float, high: float, count: int = 5, *, whole: bool = False) -> list[float]:
    """About ``count`` round numbers from ``low`` to ``high``; with ``whole``, only whole numbers."""
    span = high - low
    if not isfinite(span) or span <= 0:
        return [low]
    power = 10.0 ** floor(log10(span / count))
    step = next(power * many for many in (1, 2, 5, 10) if span / (power * many) <= count)
    step = max(1.0, step) if whole else step
    first, last = -floor(-low / step), floor(high / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


def levels(
    up: Scale, left: float, right: float, most: int = 5, unit: str = "", *, gap: float = 5.0, **style: object
) -> list[Markup]:
    """The horizontal grid lines of a plot, and their numbers on the left; by default in a page's style."""
    ruled = {"stroke": _GRID} if style else {"class_": "grid"}
    parts = []
    for value in ticks(up.low, up.high, most):
        y = up.at(value)
        parts.append(line(left, y, right, y, **ruled))
        parts.append(text(left - gap, y + 4, f"{value:g}{unit}", text_anchor="end", **style))
    return parts


def value_of(value: object) -> str:
    """A number, formatted as short as a picture needs it."""
    return f"{round(value, 2):g}" if isinstance(value, float) and abs(value) < 1e5 else str(value)


# Okabe and Ito's colours, which colour-blind people can distinguish.
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#595959"
#: The same for any number of lines, one after the other.
COLOURS = (BLUE, ORANGE, GREEN, "#CC79A7", "#E69F00", "#56B4E9", GREY)

_HEIGHT, _TOP, _BOTTOM = 340.0, 56.0, 290.0
_INK, _QUIET, _GRID = "#1b1a17", "#625e55", "#e4dfd4"

#: Places in a panel's own units.
Points = Sequence[tuple[float, float]]


def up_to(values: Iterable[float], least: float = 1.0) -> tuple[float, float]:
    """A range from 0 that leaves some space above the largest of the values."""
    return 0.0, 1.05 * max(least, *values, 0.0)


class Panel:
    """A coordinate system with a title, horizontal lines and their numbers."""

    def __init__(
        self, title: str, place: tuple[float, float], across: tuple[float, float], up: tuple[float, float]
    ) -> None:
        """``place`` is the left and right end in the picture; ``across`` and ``up`` are ranges of values."""
        self.across = Scale(*across, *place)
        self.up = Scale(*up, _BOTTOM, _TOP)
        self.parts: list[Markup] = [text(place[0], 28, title, fill=_INK, font_size=15)]
        self.parts += levels(self.up, *place, gap=8, fill=_QUIET)

    def number_across(self, unit: str = "", label: str = "", most: int = 5) -> None:
        """Write round numbers below the panel, and what they mean."""
        for value in ticks(self.across.low, self.across.high, most):
            self.name(value, f"{value:g}{unit}", _QUIET)
        middle = (self.across.begin + self.across.end) / 2
        self.parts.append(text(middle, _BOTTOM + 42, label, fill=_QUIET, text_anchor="middle"))

    def name(self, at: float, words: str, colour: str = _INK) -> None:
        """Write words below the panel, at a value."""
        x = self.across.at(at)
        self.parts.append(text(x, _BOTTOM + 22, words, fill=colour, text_anchor="middle"))

    def curve(self, points: Points, colour: str) -> None:
        """Draw a line with a dot at each point."""
        where = [(self.across.at(at), self.up.at(value)) for at, value in points]
        if where:
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in where)
            self.parts.append(tag("polyline", points=path, fill="none", stroke=colour, stroke_width=2))
            self.parts += [tag("circle", cx=x, cy=y, r=2.5, fill=colour) for x, y in where]

    def level(self, value: float, colour: str) -> None:
        """Draw a dashed line from side to side."""
        y = self.up.at(value)
        self.parts.append(
            line(*(self.across.begin, y, self.across.end, y), stroke=colour, stroke_dasharray="4 3")
        )

    def bar(self, at: float, value: float, *, left: float, width: float, colour: str, words: str) -> None:
        """Draw a bar with words above it; it begins ``left`` beside the value ``at``."""
        x, y = self.across.at(at) + left, self.up.at(value)
        self.parts += [
            rect(x, y, width - 2, _BOTTOM - y, fill=colour),
            text(x + width / 2 - 1, y - 5, words, fill=_QUIET, text_anchor="middle", font_size=11),
        ]

    def point(self, at: float, value: float, span: tuple[float, float], colour: str) -> None:
        """Draw a point, and a line over the range in which the value lies."""
        x = self.across.at(at)
        self.parts += [
            line(*(x, self.up.at(span[0]), x, self.up.at(span[1])), stroke=colour),
            tag("circle", cx=x, cy=self.up.at(value), r=4, fill=colour),
        ]

    def say(self, at: float, value: float, words: str, colour: str, *, left: bool = False) -> None:
        """Write words to the right of a point, or to its left."""
        x, anchor = (-8, "end") if left else (8, "start")
        where = self.across.at(at) + x, self.up.at(value) - 4
        self.parts.append(text(*where, words, fill=colour, text_anchor=anchor, font_size=11))

    def legend(self, names: Iterable[tuple[str, str]], left: float) -> None:
        """Write the names of colours in a column, because ends of lines may meet."""
        for place, (words, colour) in enumerate(names):
            y = _TOP + 20 * place
            self.parts += [rect(left, y, 12, 4, fill=colour), text(left + 18, y + 6, words, fill=_INK)]


def picture(
    panels: Sequence[Panel], width: float, label: str, kind: str, caption: str = "", names: int = 0
) -> str:
    """The SVG file of some panels.

    Args:
        panels: From left to right.
        label: The text alternative.
        kind: The name of this kind of plot.
        caption: Small print below.
        names: The number of names in the longest legend.
    """
    height = max(_HEIGHT, _TOP + 20 * names) + (30 if caption else 0)
    parts = [rect(0, 0, width, height, fill="#ffffff"), *(part for panel in panels for part in panel.parts)]
    if caption:
        parts.append(text(12, height - 10, caption, fill=_QUIET, font_size=10))
    style = {"xmlns": SVG, "font_family": "sans-serif", "font_size": 13}
    return f"{drawing(width, height, parts, label, kind, **style)}\n"
