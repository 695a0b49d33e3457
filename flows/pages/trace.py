"""A trace for a person: tables on the terminal, and pictures (Santilli et al. 2023).

The grid of an update (figure 6) has a row for each pass and a column for each position: the decided token,
and below it the draft or a more probable token. With a comparison to greedy decoding, it also shows the
pass's choices at the other positions, and whether they were right. In the graph (figure 4), an arc leads to
each token from the last one of the previous pass, which it had to wait for.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import accumulate, groupby
from pathlib import Path
from typing import NamedTuple

import msgspec
from markupsafe import Markup
from rich.text import Text

from connectors.files.atomic import write_atomically
from flows.pages.drawing import SVG, drawing, packaged, rect, tag, text
from flows.pages.table import Column, Table, console, print_named, print_table, tabulated
from flows.settings.translate import TranslateSettings
from operators.decoding.forward import Origin
from operators.decoding.trace import Decoding, LogitsRow, Token, Trace, UpdateTrace
from operators.text import cleaned, width


class OriginStyle(NamedTuple):
    """The style of a token's origin, besides colour."""

    letter: str
    #: The style of the terminal.
    style: str
    meaning: str


STYLES = {
    Origin.COMMITTED: OriginStyle("C", "dim", "committed: from the draft, accepted without a check"),
    Origin.DRAFT: OriginStyle("D", "blue", "from the draft, verified"),
    Origin.RECYCLED: OriginStyle("R", "yellow", "recycled from the draft’s rejected tail"),
    Origin.LOOKED_UP: OriginStyle("L", "magenta", "looked up in an earlier text"),
    Origin.PARALLEL: OriginStyle("P", "green", "guessed in parallel"),
    Origin.MODEL: OriginStyle("M", "cyan", "proposed by the draft model"),
    Origin.OWN: OriginStyle("O", "bold", "the model’s own next token, alone"),
}


def print_trace(trace: Trace, written: Sequence[object]) -> None:
    out = console()
    title = f"How segment {trace.segment} of {_safe(trace.stream)} was decoded"
    print_table(out, tabulated(title, trace.updates, _COUNTS))
    for window in (window for update in trace.updates for window in update.windows):
        if window.reference is not None:
            print_table(out, iterations(window))
    for update in trace.updates:
        out.print(_output(update, trace), soft_wrap=True)
    out.print()
    for origin in _occurring(trace.updates):
        line = Text(f"{STYLES[origin].letter:>9}  {STYLES[origin].meaning}", style=STYLES[origin].style)
        out.print(line, soft_wrap=True)
    facts = []
    if trace.head_tokens:
        times = "once" if trace.head_evaluations == 1 else f"{trace.head_evaluations} times"
        facts.append(("head", f"{trace.head_tokens} tokens, evaluated {times} for all segments, then reused"))
    print_named(out, [*facts, ("signature", signature(trace)), *(("written", path) for path in written)])


def _of_origin(origin: Origin, update: UpdateTrace) -> int:
    return sum(token.origin is origin for token in update.tokens)


def _name(update: UpdateTrace) -> str:
    return f"{'final' if update.is_final else 'update'} {update.revision}"


def _occurring(updates: Sequence[UpdateTrace]) -> list[Origin]:
    return [one for one in Origin if any(_of_origin(one, update) for update in updates)]


_COUNTS = (
    Column("update", _name),
    Column("passes", lambda update: len(update.passes)),
    Column("evaluated", lambda update: sum(one.evaluated for one in update.passes)),
    Column("reused", lambda update: sum(one.passes[0].reused for one in update.windows if one.passes)),
    Column("kept", lambda update: sum(one.kept for one in update.passes)),
    Column("rows", lambda update: sum(len(one.rows) for one in update.passes)),
    Column("tokens", lambda update: len(update.tokens)),
    *(Column(origin.value, partial(_of_origin, origin)) for origin in Origin),
)


def iterations(window: Decoding) -> Table:
    """Each pass against greedy decoding, with a mark for each token of the output that it computed."""
    rows = []
    for number, one in enumerate(window.passes, 1):
        known, right = window.known(number), one.right or ()
        computed = range(known, min(one.begin + len(one.rows), len(window.output)))
        marks = "■" * known + "".join("□" if place in right else "·" for place in computed)
        ahead = sum(place >= known for place in right)
        rows.append((f"{number:>3}  {marks}", str(known), str(ahead)))
    same = window.reference == tuple(token.id for token in window.output)
    note = f"The output is {'that' if same else 'not that'} of greedy decoding."
    title = "Iterations against greedy decoding: ■ known, □ right but not known yet, · wrong"
    return Table(title, ("pass", "known", "right ahead"), tuple(rows), notes=(note,))


# Settings that are shown even if they have their default values.
_ALWAYS = ("from", "to", "method", "accept")


def signature(trace: Trace) -> str:
    """The model, the method, and the settings that differ from their defaults."""
    usual: dict[str, object] = msgspec.to_builtins(TranslateSettings())
    settings = "|".join(
        f"{name}:{value}"
        for name, value in trace.settings.items()
        if name in _ALWAYS or (value is not None and value != usual.get(name))
    )
    return _safe(f"{trace.model}|{settings}|surtitle:{trace.surtitle}")


def _output(update: UpdateTrace, trace: Trace) -> Text:
    """The letter of each origin stands before its tokens."""
    line = Text(f"{_name(update):>9} ")
    for origin, tokens in groupby(update.tokens, lambda token: token.origin):
        line.append(f" {STYLES[origin].letter}:", "dim")
        for token in tokens:
            space = " " * trace.pieces[token.id][:1].isspace()
            line.append(space + label(trace, token.id), STYLES[origin].style)
    return line


# Characters that XML does not allow.
_NOT_XML = dict.fromkeys((0xFFFE, 0xFFFF), "\ufffd")
_MAX_LABEL, _MAX_SOURCE = 16, 110


def _safe(words: str) -> str:
    """Without characters that a terminal, a browser or an XML reader cannot show."""
    return cleaned(words).translate(_NOT_XML)


def label(trace: Trace, token: int) -> str:
    piece = trace.pieces[token]
    words = _safe(piece)
    if not words:
        return ("⏎" if "\n" in piece else "␣") if piece.isspace() else f"#{token}"
    return words if len(words) <= _MAX_LABEL else f"{words[: _MAX_LABEL - 1]}…"


def write_pictures(trace: Trace, folder: Path) -> int:
    """Write two SVGs of each update; return their number. Raises `OutputError`."""
    made = dict(pictures(trace))
    for stem, svg in made.items():
        write_atomically(folder / f"{stem}.svg", svg.encode())
    return len(made)


def pictures(trace: Trace) -> Iterator[tuple[str, str]]:
    title = f"Segment {trace.segment} of {_safe(trace.stream)}"
    for update in trace.updates:
        for number, window in enumerate(update.windows):
            part = f"-{number + 1}" if len(update.windows) > 1 else ""
            stem, heading = f"update-{update.revision:04d}{part}", f"{title}, {_name(update)}"
            if window.passes:
                yield f"{stem}-grid", _file(grid(window, trace), heading, trace, update)
                yield f"{stem}-graph", _file(graph(window, trace), heading, trace, update)


class Picture(NamedTuple):
    width: float
    height: float
    parts: list[Markup]
    words: str


_RIGHT = "guess right"
_MIN_WIDTH, _LEFT, _MARGIN = 620.0, 96.0, 16.0
# Width of a letter of a token and of small print; of the narrowest cell; height of a cell; gap of two cells.
_LETTER, _SMALL, _MIN_CELL, _CELL, _GAP = 7.6, 5.8, 30.0, 24.0, 3.0


def _file(inner: Picture, title: str, trace: Trace, update: UpdateTrace) -> str:
    """A complete SVG file, with style, heading, source text and legend."""
    how = f"{inner.words}; {_safe(str(trace.settings.get('method', '')))}, {_safe(trace.model)}"
    source = _safe(update.source)[-_MAX_SOURCE:]
    parts = [
        text(_MARGIN, 20, title, class_="token head"),
        text(_MARGIN, 36, how, class_="small"),
        text(_MARGIN, 54, source, class_="said"),
        tag("g", Markup("").join(inner.parts), transform=f"translate({_MARGIN:g} 64)"),
    ]
    y = inner.height + 78
    for origin in _occurring([update]):
        parts += [_box(_MARGIN, y, 20, 14, origin, None), text(_MARGIN + 26, y + 11, STYLES[origin].meaning)]
        y += 20
    if any(window.reference is not None for window in update.windows):
        swatch = rect(_MARGIN, y, 20, 14, rx=3.0, class_=_RIGHT)
        parts += [swatch, text(_MARGIN + 26, y + 11, "as in greedy decoding, but not known yet")]
        y += 20
    letters = max(width(how), width(source), width(title))
    wide, high = max(_MIN_WIDTH, inner.width, _SMALL * letters) + 2 * _MARGIN, y + 8
    # Our own style sheet, the same for every picture.
    style = tag("style", Markup(packaged("trace.css")))
    alternative = f"{title}. {inner.words}"
    parts = [tag("title", alternative), style, rect(0, 0, wide, high, class_="ground"), *parts]
    svg = drawing(wide, high, parts, alternative, "trace", xmlns=SVG, width=wide, height=high)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{svg}\n'


def _box(x: float, y: float, wide: float, high: float, origin: Origin, p: float | None) -> Markup:
    """The cell of a token: colour and letter of its origin, and its probability as a bar."""
    kind = origin.value.replace(" ", "-")
    shape = rect(x, y, wide, high, rx=3.0, class_=f"cell {kind}")
    shape += text(x + 3, y + 9, STYLES[origin].letter, class_=f"letter {kind}")
    if p:
        shape += rect(x + 3, y + high - 3.5, (wide - 6) * p, 1.5, class_=f"letter {kind}")
    return shape


def _cell_width(words: str) -> float:
    return max(_MIN_CELL, _LETTER * width(words) + 18)


def _lefts(begin: float, widths: Sequence[float]) -> list[float]:
    """The left edge of each cell of a row, and of one more."""
    return list(accumulate((wide + _GAP for wide in widths), initial=begin))


def _token(x: float, y: float, wide: float, token: Token, trace: Trace, number: int) -> Markup:
    """A token of an output; its tooltip names its origin."""
    words = label(trace, token.id)
    where = f" in pass {token.decided}" if token.decided else ""
    p = "" if token.p is None else f", probability {token.p:.2f}"
    tip = tag("title", f"{number}: “{words}”, {STYLES[token.origin].meaning}{where}{p}")
    shown = text(x + wide / 2 + 3, y + 16.5, words, class_="token", text_anchor="middle")
    return tag("g", tip + _box(x, y, wide, _CELL, token.origin, token.p) + shown)


class Cell(NamedTuple):
    """A token at a position of a pass, and small print below it."""

    #: ``decided``, or ``guess`` after a rejected token, or ``end`` of the output.
    form: str
    words: str
    #: The rejected draft token, or ``≠`` the model's choice.
    note: str = ""
    is_rejected: bool = False


def cell(row: LogitsRow, trace: Trace, *, iterates: bool = False) -> Cell | None:
    """None if a row of logits has nothing to draw.

    If ``iterates``, a row that decided nothing shows the pass's choice instead of the offered token.
    """
    offered = "" if row.offered is None else label(trace, row.offered)
    differs = "" if row.choice in (row.stands, row.offered) else f"≠ {label(trace, row.choice)}"
    if row.ends:
        return Cell("end", "■", offered, is_rejected=True)
    if row.stands is None and iterates:
        replaced = "" if row.choice == row.offered else offered
        return Cell("guess", label(trace, row.choice), replaced, is_rejected=True)
    if row.stands is None:
        return Cell("guess", offered, differs) if offered else None
    if row.offered not in (None, row.stands):
        return Cell("decided", label(trace, row.stands), offered, is_rejected=True)
    differs = "" if row.choice == row.stands else f"≠ {label(trace, row.choice)}"
    return Cell("decided", label(trace, row.stands), differs)


def grid(window: Decoding, trace: Trace) -> Picture:
    """The iterations of one output: a row for each pass, a column for each position."""
    output, iterates = window.output, window.reference is not None
    cells = [
        {
            place: (row, made)
            for place, row in enumerate(one.rows, one.begin)
            # Guesses beyond the end are meaningless.
            if (made := cell(row, trace, iterates=iterates)) and not (iterates and place > len(output))
        }
        for one in window.passes
    ]
    widths = [_cell_width(label(trace, token.id)) for token in output]
    for place, (_, made) in (item for each in cells for item in each.items()):
        widths += [_MIN_CELL] * (place + 1 - len(widths))
        widths[place] = max(widths[place], _cell_width(made.words), _SMALL * width(made.note) + 12)
    lefts = _lefts(_LEFT, widths)
    parts = [
        text(left + wide / 2, 9, str(place), class_="small", text_anchor="middle")
        for place, (left, wide) in enumerate(zip(lefts, widths, strict=False), 1)
    ]
    y, high = 14.0, 35.0
    for number, (each, one) in enumerate(zip(cells, window.passes, strict=True), 1):
        counts = {"token": one.evaluated, "row": len(one.rows)}
        cost = ", ".join(f"{count} {name}{'s' * (count != 1)}" for name, count in counts.items())
        parts += [text(0, y + 15, f"pass {number}", class_="head"), text(0, y + 28, cost, class_="small")]
        for place, (row, made) in each.items():
            kind = _RIGHT if place in (one.right or ()) else "guess"
            shape = rect(lefts[place], y, widths[place], high, rx=3.0, class_=kind)
            if made.form == "decided":
                shape = _box(lefts[place], y, widths[place], high, output[place].origin, row.p_stands)
            parts.append(_cell(shape, made, row, lefts[place] + widths[place] / 2, y, trace))
        y += high + 4
    parts.append(text(0, y + 15, "output", class_="head"))
    for place, token in enumerate(output):
        parts.append(_token(lefts[place], y, widths[place], token, trace, place + 1))
    words = f"Iterations: {len(cells)} passes over {len(output)} tokens"
    return Picture(max(_MIN_WIDTH, lefts[-1]), y + _CELL, parts, words)


def _cell(shape: Markup, made: Cell, row: LogitsRow, middle: float, y: float, trace: Trace) -> Markup:
    tip = f"the model’s choice “{label(trace, row.choice)}” {row.p_choice:.2f}"
    if row.offered is not None:
        tip += f"; offered “{label(trace, row.offered)}” {row.p_offered or 0.0:.2f}"
    note = "small fell" if made.is_rejected else "small"
    shape += text(middle + 3, y + 16.5, made.words, class_="token", text_anchor="middle")
    shape += text(middle + 3, y + 29, made.note, class_=note, text_anchor="middle")
    return tag("g", tag("title", tip) + shape)


def graph(window: Decoding, trace: Trace) -> Picture:
    """The dependencies of one output: an arc from the token that each one had to wait for."""
    # The first cell stands for the text before the output.
    widths = [_MIN_CELL, *(_cell_width(label(trace, token.id)) for token in window.output)]
    lefts = _lefts(0.0, widths)
    middles = [left + wide / 2 for left, wide in zip(lefts, widths, strict=False)]
    decided = [0, *(token.decided for token in window.output)]
    arcs = [(middles[source], middles[target]) for source, target in _arcs(decided)]
    heights = [min(64.0, 9.0 + 0.14 * (end - begin)) for begin, end in arcs]
    y = max([9.0, *heights]) + 6
    parts: list[Markup] = []
    for number, group in groupby(range(1, len(decided)), key=lambda place: decided[place]):
        places = list(group)
        left, right = lefts[places[0]], lefts[places[-1] + 1] - _GAP
        path = f"M{left + 1:.1f} {y + _CELL + 3:.1f} v4 H{right - 1:.1f} v-4"
        parts.append(tag("path", d=path, class_="bracket"))
        words = str(number or "C")
        parts.append(text((left + right) / 2, y + _CELL + 18, words, class_="small", text_anchor="middle"))
    for (begin, end), high in zip(arcs, heights, strict=True):
        handle = y - high * 4 / 3
        path = f"M{begin:.1f} {y:.1f} C{begin:.1f} {handle:.1f} {end:.1f} {handle:.1f} {end:.1f} {y - 3:.1f}"
        tip = f"M{end - 3:.1f} {y - 5:.1f} L{end + 3:.1f} {y - 5:.1f} L{end:.1f} {y:.1f} Z"
        parts += [tag("path", d=path, class_="arc"), tag("path", d=tip, class_="tip")]
    parts.append(text(middles[0], y + 17, "▶", class_="token", text_anchor="middle"))
    for number, token in enumerate(window.output, 1):
        parts.append(_token(lefts[number], y, widths[number], token, trace, number))
    words = f"{len(window.output)} tokens were decided in {len(window.passes)} passes"
    return Picture(max(_MIN_WIDTH, lefts[-1]), y + _CELL + 24, parts, f"Decoding dependency graph: {words}")


def _arcs(decided: Sequence[int]) -> Iterator[tuple[int, int]]:
    last = 0
    for place in range(1, len(decided)):
        if decided[place] != decided[place - 1]:
            last = place - 1
        if decided[place]:
            yield last, place
