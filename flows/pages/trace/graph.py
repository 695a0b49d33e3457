"""The decoding dependency graph (Santilli et al. 2023, figure 4) of one output.

A token that a pass decided depends on the last token of the previous pass: an arc leads from that one to it.
One token per pass gives a chain of short arcs; where a pass decided more, several arcs fan out of one token.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby

from markupsafe import Markup

from flows.pages.document import rect, tag, text
from flows.pages.trace.picture import (
    LETTERS,
    MIN_WIDTH,
    Label,
    Labels,
    Picture,
    Placed,
    chip,
    flowing,
    token_words,
)
from operators.decoding.forward import Origin
from operators.decoding.trace import Decoding

_LEFT, _TOP, _HIGH = 26.0, 6.0, 24.0
# Height between a line's cells and the next line's arcs: the brackets and their names.
_BELOW = 30.0
# Minimum and maximum height of an arc.
_MIN_ARC_HEIGHT, _MAX_ARC_HEIGHT = 9.0, 64.0
# Narrower brackets are labelled only with their number, or with the letter of committed tokens.
_ROOM = 56.0
_BEGIN = Label("▶", 2, begins=False)


class _Lines:
    """The positions of the cells, and the space for the arcs above each line."""

    def __init__(self, one: Decoding, labels: Labels) -> None:
        # The first cell stands for the text before the output.
        self.cells = flowing([_BEGIN, *(labels.of(token.id) for token in one.output)], _LEFT)
        self.passes = [0, *(token.decided for token in one.output)]
        self.arcs = list(_arcs(self.passes))
        room = [_MIN_ARC_HEIGHT] * (self.cells[-1].line + 1)
        for source, target in self.arcs:
            room[self.cells[target].line] = max(room[self.cells[target].line], self.height(source, target))
        self.tops = [
            _TOP + sum(room[: number + 1]) + number * (_HIGH + _BELOW) for number in range(len(room))
        ]

    @property
    def bottom(self) -> float:
        return self.tops[-1] + _HIGH + _BELOW

    def height(self, source: int, target: int) -> float:
        a, b = self.cells[source], self.cells[target]
        span = _middle(b) - (_middle(a) if a.line == b.line else 0.0)
        return min(_MAX_ARC_HEIGHT, _MIN_ARC_HEIGHT + 0.14 * span)


def graph(one: Decoding, labels: Labels) -> Picture:
    """The picture of one output's dependencies."""
    lines = _Lines(one, labels)
    parts = [*_brackets(lines), *(_arc(lines, source, target) for source, target in lines.arcs)]
    begin = lines.cells[0]
    parts.append(text(_middle(begin), lines.tops[0] + 17, _BEGIN.text, class_="token", text_anchor="middle"))
    for number, (token, at) in enumerate(zip(one.output, lines.cells[1:], strict=True), 1):
        tip = token_words(token, at.label.text, number)
        parts.append(chip(at.x, lines.tops[at.line], at.width, _HIGH, at.label, token, tip))
    words = f"{len(one.output)} tokens were decided in {len(one.passes)} passes"
    wide = max(MIN_WIDTH, *(cell.x + cell.width + 4 for cell in lines.cells))
    return Picture(wide, lines.bottom, tuple(parts), f"Decoding dependency graph: {words}")


def _arcs(passes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Arcs from the token that each one had to wait for; committed tokens waited for none."""
    last = 0
    for place in range(1, len(passes)):
        if passes[place] != passes[place - 1]:
            last = place - 1
        if passes[place]:
            yield last, place


def _middle(cell: Placed) -> float:
    return cell.x + cell.width / 2


def _arc(lines: _Lines, source: int, target: int) -> Markup:
    a, b = lines.cells[source], lines.cells[target]
    x, y, high = _middle(b), lines.tops[b.line], lines.height(source, target)
    if a.line == b.line:
        begin = _middle(a)
        # A cubic curve reaches three quarters of the way to its control points.
        handle = y - high * 4 / 3
        path = f"M{begin:.1f} {y:.1f} C{begin:.1f} {handle:.1f} {x:.1f} {handle:.1f} {x:.1f} {y - 3:.1f}"
    else:
        # From another line: the arc enters from the left.
        top = f"{y - high:.1f}"
        path = f"M2 {top} L{max(2.0, x - 24):.1f} {top} Q{x:.1f} {top} {x:.1f} {y - 3:.1f}"
    tip = f"M{x - 3:.1f} {y - 5:.1f} L{x + 3:.1f} {y - 5:.1f} L{x:.1f} {y:.1f} Z"
    return tag("path", d=path, class_="arc") + tag("path", d=tip, class_="tip")


def _brackets(lines: _Lines) -> Iterator[Markup]:
    """Brackets around the tokens that each pass decided, line by line."""
    places = range(1, len(lines.cells))
    for (number, row), group in groupby(
        places, key=lambda place: (lines.passes[place], lines.cells[place].line)
    ):
        cells = [lines.cells[place] for place in group]
        left, right = cells[0].x, cells[-1].x + cells[-1].width
        top = lines.tops[row] + _HIGH + 3
        if number % 2 == 0:
            yield rect(left - 1, top - _HIGH - 6, right - left + 2, _HIGH + 24, rx=3.0, class_="band")
        path = f"M{left + 1:.1f} {top:.1f} v4 H{right - 1:.1f} v-4"
        yield tag("path", d=path, class_="bracket")
        name, short = (f"pass {number}", str(number)) if number else ("committed", LETTERS[Origin.COMMITTED])
        told = name if right - left > _ROOM else short
        yield text((left + right) / 2, top + 15, told, class_="small", text_anchor="middle")
