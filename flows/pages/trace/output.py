"""The pictures of one output (Santilli et al. 2023): its iterations, and the graph of its dependencies.

The iterations (figure 6) have a row per pass and a column per position. A cell shows the result of the pass
at a position: the decided token, in the colour of its origin; or an offered token after the divergence, about
which the pass decided nothing.

In the graph (figure 4), a token that a pass decided depends on the last token of the previous pass: an arc
leads from that one to it. One token per pass gives a chain of short arcs; where a pass decided more, several
arcs fan out of one token.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from itertools import groupby
from typing import NamedTuple

from markupsafe import Markup

from flows.pages.drawing import line, rect, tag, text
from flows.pages.trace.picture import (
    KINDS,
    LETTER,
    MIN_CELL,
    MIN_WIDTH,
    SMALL,
    WIDTH,
    Label,
    Labels,
    Picture,
    Placed,
    chip,
    chip_width,
    flowing,
    standing,
    token_words,
)
from operators.decoding.forward import Origin
from operators.decoding.trace import Decoding, LogitsRow, Pass


class PlaceState(Enum):
    """What a pass decided about a position."""

    #: The offered token was accepted: it is the model's choice, or the rule accepted it although it is not.
    ACCEPTED = "accepted: also the model’s own choice"
    ACCEPTED_BY_RULE = "accepted, although the model would have chosen another"
    #: The offered token was rejected and replaced by the model's choice.
    CORRECTED = "rejected, and replaced by the model’s choice"
    #: Nothing was offered.
    OWN = "the model’s own next token"
    #: Less probable here than another, and part of the more probable continuation.
    SEARCHED = "chosen by the beam search, although another token was more probable here"
    #: Decided, but cut from the output because that had begun to repeat itself.
    CUT = "decided, then cut: the output repeated itself"
    #: The output ends here.
    END = "the model ended the output"
    #: Offered after a rejected token.
    GUESS = "proposed after the divergence: nothing decided"


#: The forms that need explaining, by their class.
FORMS = {
    PlaceState.ACCEPTED_BY_RULE: ("leaned", "accepted, although the model’s choice (≠) was another"),
    PlaceState.SEARCHED: ("searched", "chosen by the beam search; another (≠) was more probable here"),
    PlaceState.CORRECTED: ("fell", "proposed and rejected"),
    PlaceState.GUESS: ("guess", "proposed after the divergence, nothing decided (→ the model’s guess)"),
    PlaceState.CUT: ("cut-off", "cut: the output repeated itself"),
    PlaceState.END: ("end", "the output ends"),
}


class GridCell(NamedTuple):
    """The drawing of one row of logits."""

    state: PlaceState
    row: LogitsRow
    #: The displayed token, and the one on the second line after a mark; None if there is none.
    token: int | None
    second: int | None
    mark: str
    origin: Origin


def cells(one: Decoding) -> list[dict[int, GridCell]]:
    """For each pass, the cells of the positions that it looked at and that have something to show."""
    made: list[dict[int, GridCell]] = []
    for each in one.passes:
        looked: dict[int, GridCell] = {}
        for place, row in enumerate(each.rows, each.begin):
            origin = one.output[place].origin if place < len(one.output) else None
            cell = _cell(row, origin)
            if cell is not None:
                looked[place] = cell
        made.append(looked)
    return made


def _cell(row: LogitsRow, origin: Origin | None) -> GridCell | None:
    if row.ends:
        return GridCell(PlaceState.END, row, None, row.offered, "", Origin.OWN)
    if row.stands is None:
        if row.offered is None:
            return None
        other = None if row.choice == row.offered else row.choice
        return GridCell(PlaceState.GUESS, row, row.offered, other, "→ ", Origin.OWN)
    if origin is None:
        return GridCell(PlaceState.CUT, row, row.stands, None, "", Origin.OWN)
    if row.stands != row.choice and origin is Origin.OWN:
        return GridCell(PlaceState.SEARCHED, row, row.stands, row.choice, "≠ ", origin)
    if row.offered is None:
        return GridCell(PlaceState.OWN, row, row.stands, None, "", Origin.OWN)
    if row.offered != row.stands:
        return GridCell(PlaceState.CORRECTED, row, row.stands, row.offered, "", Origin.OWN)
    if row.choice == row.stands:
        return GridCell(PlaceState.ACCEPTED, row, row.stands, None, "", origin)
    return GridCell(PlaceState.ACCEPTED_BY_RULE, row, row.stands, row.choice, "≠ ", origin)


def cell_words(cell: GridCell, labels: Labels) -> str:
    """The description of a cell in words."""
    row = cell.row
    choice = f"the model’s choice “{labels.of(row.choice).text}” {row.p_choice:.2f}"
    shown = row.stands if cell.state is PlaceState.SEARCHED else row.offered
    if shown is None:
        return f"{cell.state.value}, {choice}"
    p = row.p(shown)
    return f"“{labels.of(shown).text}”{'' if p is None else f' {p:.2f}'} {cell.state.value}; {choice}"


_LEFT, _TOP = 96.0, 4.0
# Height of a row without and with a second line of text; gap between rows; height of the position numbers.
_LOW, _TALL, _GAP, _NUMBERS = 23.0, 35.0, 4.0, 14.0
# Gap between the bands of a long output.
_BETWEEN = 22.0
# Number of positions after the end of the output that are drawn.
_MAX_BEHIND = 6


class _Band(NamedTuple):
    """Some neighbouring columns, as many as fit side by side."""

    first: int
    #: The left edge of each column, and the right edge of the last one.
    edges: list[float]

    @property
    def end(self) -> int:
        return self.first + len(self.edges) - 1

    def cell(self, place: int) -> tuple[float, float]:
        """The left and right edge of the cell of a position."""
        return self.edges[place - self.first], self.edges[place - self.first + 1] - 3


def grid(one: Decoding, labels: Labels) -> Picture:
    """The picture of one output's iterations."""
    looked = cells(one)
    end = max([1, len(one.output), *(each.begin + each.decided for each in one.passes)])
    seen = max((max(places, default=-1) + 1 for places in looked), default=0)
    widths = _widths(one, looked, labels, max(end, min(seen, end + 1 + _MAX_BEHIND)))
    # Positions after the end are not worth a separate band.
    bands = [band for band in _bands(widths) if band.first <= end]
    parts: list[Markup] = []
    y = _TOP
    for band in bands:
        drawn, y = _drawn_band(one, looked, band, y, labels)
        parts += drawn
    y -= _BETWEEN
    more = sum(place >= bands[-1].end for places in looked for place in places)
    lost = sum(not each.rows for each in one.passes)
    for told in (
        f"{_many(more, 'guess')} further after the end left out" if more else "",
        f"{_many(lost, 'pass')} of the beam search only with continuations that lost" if lost else "",
    ):
        if told:
            y += 16
            parts.append(text(_LEFT, y, told, class_="small"))
    words = f"Iterations: {_many(len(one.passes), 'pass')} over {_many(len(one.output), 'token')}"
    wide = max(MIN_WIDTH, *(band.edges[-1] for band in bands))
    return Picture(wide, y + 10, tuple(parts), words)


def _drawn_band(
    one: Decoding, looked: Sequence[Mapping[int, GridCell]], band: _Band, y: float, labels: Labels
) -> tuple[list[Markup], float]:
    """The rows of a band, and the top of the next band."""
    parts: list[Markup] = []
    for place in range(band.first, band.end):
        x, right = band.cell(place)
        parts.append(text((x + right) / 2, y + 9, str(place + 1), class_="small", text_anchor="middle"))
    y += _NUMBERS
    for number, places in enumerate(looked, 1):
        within = {place: cell for place, cell in places.items() if band.first <= place < band.end}
        if within:
            high = _TALL if any(cell.second is not None for cell in within.values()) else _LOW
            parts.append(text(0, y + 15, f"pass {number}", class_="head"))
            if min(places) in within and high > _LOW:
                parts.append(text(0, y + 28, _cost(one.passes[number - 1]), class_="small"))
            parts += _row(number, within, band, y, high, labels)
            y += high + _GAP
    parts += _output(one, band, y, labels)
    return parts, y + _LOW + _BETWEEN


def _widths(
    one: Decoding, looked: Sequence[Mapping[int, GridCell]], labels: Labels, count: int
) -> list[float]:
    wide = [22.0] * count
    for place, token in enumerate(one.output):
        wide[place] = chip_width(labels.of(token.id))
    for places in looked:
        for place, cell in places.items():
            if place < count:
                wide[place] = max(wide[place], _cell_width(cell, labels))
    return wide


def _cell_width(cell: GridCell, labels: Labels) -> float:
    main = 3 if cell.token is None else labels.of(cell.token).columns
    second = 0 if cell.second is None else len(cell.mark) + labels.of(cell.second).columns
    return max(MIN_CELL, LETTER * main + 18, SMALL * second + 12)


def _bands(widths: Sequence[float]) -> Iterator[_Band]:
    first, edges = 0, [_LEFT]
    for place, wide in enumerate(widths):
        if edges[-1] + wide + 3 > WIDTH and len(edges) > 1:
            yield _Band(first, edges)
            first, edges = place, [_LEFT]
        edges.append(edges[-1] + wide + 3)
    yield _Band(first, edges)


def _row(
    number: int, within: Mapping[int, GridCell], band: _Band, y: float, high: float, labels: Labels
) -> Iterator[Markup]:
    left, _ = band.cell(min(within))
    if left > _LEFT:
        yield line(_LEFT, y + high / 2, left - 3, y + high / 2, class_="known")
    for place, cell in within.items():
        x, right = band.cell(place)
        yield _drawn(cell, x, y, right - x, high, labels, f"pass {number}, place {place + 1}")


def _drawn(
    cell: GridCell, x: float, y: float, wide: float, high: float, labels: Labels, where: str
) -> Markup:
    if cell.state is PlaceState.GUESS:
        shape = rect(x, y, wide, high, rx=3.0, class_="guess")
    elif cell.state is PlaceState.END:
        shape = rect(x + wide / 2 - 4, y + 8, 8, 8, class_="end")
    else:
        how = {
            PlaceState.ACCEPTED_BY_RULE: " leaned",
            PlaceState.SEARCHED: " searched",
            PlaceState.CUT: " cut-off",
        }.get(cell.state, "")
        p = None if cell.token is None else cell.row.p(cell.token)
        shape = standing(x, y, wide, high, cell.origin, p, how)
    parts = [tag("title", f"{where}: {cell_words(cell, labels)}"), shape]
    middle = x + wide / 2 + (0 if cell.state in (PlaceState.GUESS, PlaceState.END) else 3)
    if cell.token is not None:
        idle = {PlaceState.GUESS: " idle", PlaceState.CUT: " fell"}.get(cell.state, "")
        told = labels.of(cell.token).text
        parts.append(text(middle, y + 16.5, told, class_=f"token{idle}", text_anchor="middle"))
    if cell.second is not None:
        fell = " fell" if cell.state in (PlaceState.CORRECTED, PlaceState.END) else ""
        told = cell.mark + labels.of(cell.second).text
        parts.append(text(middle, y + 29, told, class_=f"small{fell}", text_anchor="middle"))
    return tag("g", Markup("").join(parts))


def _output(one: Decoding, band: _Band, y: float, labels: Labels) -> Iterator[Markup]:
    yield text(0, y + 15, "output", class_="head")
    for place in range(band.first, min(band.end, len(one.output))):
        token = one.output[place]
        x, right = band.cell(place)
        label = labels.of(token.id)
        yield chip(x, y, right - x, _LOW, label, token, token_words(token, label.text, place + 1))


def _cost(one: Pass) -> str:
    return f"{_many(one.evaluated, 'token')}, {_many(len(one.rows), 'row')}"


def _many(count: int, what: str) -> str:
    ending = "" if count == 1 else "es" if what.endswith("s") else "s"
    return f"{count} {what}{ending}"


_GRAPH_LEFT, _GRAPH_TOP, _CELL = 26.0, 6.0, 24.0
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
        self.cells = flowing([_BEGIN, *(labels.of(token.id) for token in one.output)], _GRAPH_LEFT)
        self.passes = [0, *(token.decided for token in one.output)]
        self.arcs = list(_arcs(self.passes))
        room = [_MIN_ARC_HEIGHT] * (self.cells[-1].line + 1)
        for source, target in self.arcs:
            room[self.cells[target].line] = max(room[self.cells[target].line], self.height(source, target))
        self.tops = [
            _GRAPH_TOP + sum(room[: number + 1]) + number * (_CELL + _BELOW) for number in range(len(room))
        ]

    @property
    def bottom(self) -> float:
        return self.tops[-1] + _CELL + _BELOW

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
        parts.append(chip(at.x, lines.tops[at.line], at.width, _CELL, at.label, token, tip))
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
        top = lines.tops[row] + _CELL + 3
        if number % 2 == 0:
            yield rect(left - 1, top - _CELL - 6, right - left + 2, _CELL + 24, rx=3.0, class_="band")
        path = f"M{left + 1:.1f} {top:.1f} v4 H{right - 1:.1f} v-4"
        yield tag("path", d=path, class_="bracket")
        name, short = (
            (f"pass {number}", str(number)) if number else ("committed", KINDS[Origin.COMMITTED].letter)
        )
        told = name if right - left > _ROOM else short
        yield text((left + right) / 2, top + 15, told, class_="small", text_anchor="middle")
