"""Building blocks of pages: packaged files, templates, the content security policy, and SVG.

All content of a picture is escaped here, once.
"""

import base64
import hashlib
from collections.abc import Iterable
from importlib.resources import files
from math import floor, isfinite, log10
from typing import NamedTuple

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup, escape


def packaged(package: str, name: str) -> str:
    """A file that is part of a package."""
    return files(package).joinpath(name).read_text(encoding="utf-8")


def render(package: str, name: str, **values: object) -> str:
    """Fill in a template of a package; anything that is not markup is escaped."""
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(packaged(package, name)).render(**values)


def policy(style: str, script: str | None = None) -> str:
    """The content security policy for a page that has only this style and script."""
    scripts = "" if script is None else f"script-src '{_hash(script)}'; "
    return f"default-src 'none'; {scripts}style-src '{_hash(style)}'; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


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


def levels(up: Scale, left: float, right: float, most: int = 5, unit: str = "") -> list[Markup]:
    """The horizontal grid lines of a plot, and their numbers on the left."""
    parts = []
    for value in ticks(up.low, up.high, most):
        y = up.at(value)
        parts.append(line(left, y, right, y, class_="grid"))
        parts.append(text(left - 5.0, y + 4, f"{value:g}{unit}", text_anchor="end"))
    return parts


def value_of(value: object) -> str:
    """A number, formatted as short as a picture needs it."""
    return f"{round(value, 2):g}" if isinstance(value, float) and abs(value) < 1e5 else str(value)
