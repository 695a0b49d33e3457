"""A segment at a glance: a bar for each update, whose height shows how much it erased."""

from math import sqrt

from markupsafe import Markup

from flows.pages.report.gather import Detail
from flows.pages.svg import line, rect, tag

_HEIGHT, _STEP, _MAX_WIDTH = 20.0, 6.0, 240.0


def spark(detail: Detail, high: int, number: int) -> Markup:
    """The strip of one segment; ``high`` is the value of the highest bar of all strips."""
    step = min(_STEP, _MAX_WIDTH / len(detail.moments))
    width = step * len(detail.moments)
    parts = [line(0, _HEIGHT - 0.5, width, _HEIGHT - 0.5, class_="base")]
    for place, moment in enumerate(detail.moments):
        if moment.shown.erased:
            # The square root: one update that erases a whole sentence must not make all others look alike.
            height = max(2.0, (_HEIGHT - 1) * sqrt(moment.shown.erased / max(1, high)))
            x = place * step + 0.15 * step
            parts.append(rect(x, _HEIGHT - height, 0.7 * step, height, class_="shown"))
    return tag(
        "svg",
        Markup("").join(parts),
        viewBox=f"0 0 {width:g} {_HEIGHT:g}",
        width=width,
        height=_HEIGHT,
        class_=f"spark run{number}",
        # The text next to it says what it shows.
        aria_hidden="true",
    )
