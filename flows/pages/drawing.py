"""Building blocks of pages: packaged files, and escaped SVG."""

from collections.abc import Iterable
from importlib.resources import files
from math import floor, isfinite, log10
from typing import NamedTuple

from markupsafe import Markup, escape


def packaged(name: str) -> str:
    return files("flows.pages").joinpath(name).read_text(encoding="utf-8")


#: The XML namespace of SVG files.
SVG = "http://www.w3.org/2000/svg"


class Scale(NamedTuple):
    """Maps the values from ``low`` to ``high`` to a range of the picture."""

    low: float
    high: float
    begin: float
    end: float

    def at(self, value: float) -> float:
        """The position of a value, which is clipped to the scale."""
        share = (value - self.low) / ((self.high - self.low) or 1.0)
        return self.begin + min(1.0, max(0.0, share)) * (self.end - self.begin)


def tag(name: str, inner: str | Markup = "", /, **attributes: object) -> Markup:
    """Numbers are rounded; ``_`` in an attribute's name becomes ``-``, and a trailing one is removed."""
    pairs = Markup("")
    for key, value in attributes.items():
        shown = f"{round(value, 2):g}" if isinstance(value, float) and abs(value) < 1e5 else value
        pairs += Markup(' {}="{}"').format(key.rstrip("_").replace("_", "-"), shown)
    # The name is a constant; text that is not markup yet is escaped.
    return Markup(f"<{name}") + pairs + Markup(">") + escape(inner) + Markup(f"</{name}>")


def rect(x: float, y: float, width: float, height: float, **attributes: object) -> Markup:
    """A rectangle, never too thin to be seen."""
    return tag("rect", x=x, y=y, width=max(width, 0.5), height=max(height, 0.5), **attributes)


def line(x1: float, y1: float, x2: float, y2: float, **attributes: object) -> Markup:
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, **attributes)


def text(x: float, y: float, words: str, **attributes: object) -> Markup:
    """``y`` is the baseline."""
    return tag("text", words, x=x, y=y, **attributes)


def drawing(
    width: float, height: float, parts: Iterable[Markup], label: str, kind: str, /, **more: object
) -> Markup:
    """An SVG with its text alternative; a file needs the namespace `SVG` as its ``xmlns``."""
    box = f"0 0 {width:g} {height:g}"
    return tag("svg", Markup("").join(parts), **more, viewBox=box, role="img", aria_label=label, class_=kind)


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """About ``count`` round numbers from ``low`` to ``high``."""
    span = high - low
    if not isfinite(span) or span <= 0:
        return [low]
    power = 10.0 ** floor(log10(span / count))
    step = next(power * many for many in (1, 2, 5, 10) if span / (power * many) <= count)
    first, last = -floor(-low / step), floor(high / step + 1e-9)
    return [number * step for number in range(first, last + 1)]
