"""A trace for a person: tables on the terminal, and pictures (Santilli et al. 2023).

The overview of a segment has a row of tokens for each update. The grid of an update (figure 6) has a row for
each pass and a column for each place: what the pass decided there, and below it what was offered or more
probable instead. In the graph (figure 4), an arc leads to each token from the last one of the pass before,
which it had to wait for.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import msgspec
from markupsafe import Markup
from rich.text import Text

from connectors.files.atomic import write_atomically
from flows.pages.drawing import SVG, drawing, packaged, rect, tag, text
from flows.pages.table import Column, console, print_named, print_table, tabulated
from flows.settings.translate import TranslateSettings
from operators.decoding.forward import Origin
from operators.decoding.trace import Decoding, LogitsRow, Pass, Token, Trace, UpdateTrace
from operators.text import cleaned, width


class Kind(NamedTuple):
    """How the tokens of an origin are told apart, besides their colour."""

    letter: str
    #: The style of the terminal.
    style: str
    meaning: str


KINDS = {
    Origin.COMMITTED: Kind("C", "dim", "committed: from the draft, accepted without a check"),
    Origin.DRAFT: Kind("D", "blue", "from the draft, verified"),
    Origin.RECYCLED: Kind("R", "yellow", "recycled from the draft’s rejected tail"),
    Origin.LOOKED_UP: Kind("L", "magenta", "looked up in an earlier text"),
    Origin.PARALLEL: Kind("P", "green", "guessed in parallel"),
    Origin.MODEL: Kind("M", "cyan", "proposed by the draft model"),
    Origin.OWN: Kind("O", "bold", "the model’s own next token, alone"),
}


def print_trace(trace: Trace, written: Sequence[object]) -> None:
    """Print a trace for a person, and which files were written."""
    out = console()
    title = f"How segment {trace.segment} of {_safe(trace.stream)} was decoded"
    print_table(out, tabulated(title, trace.updates, _COUNTS))
    for update in trace.updates:
        out.print(_output(update, trace), soft_wrap=True)
    out.print()
    for origin in _occurring(trace.updates):
        line = Text(f"{KINDS[origin].letter:>9}  {KINDS[origin].meaning}", style=KINDS[origin].style)
        out.print(line, soft_wrap=True)
    told = []
    if trace.head_tokens:
        times = "once" if trace.head_evaluations == 1 else f"{trace.head_evaluations} times"
        told.append(("head", f"{trace.head_tokens} tokens, evaluated {times} for all segments, then reused"))
    print_named(out, [*told, ("signature", signature(trace)), *(("written", path) for path in written)])


def _passes(update: UpdateTrace) -> list[Pass]:
    return [one for window in update.windows for one in window.passes]


def _of_origin(origin: Origin, update: UpdateTrace) -> int:
    return sum(token.origin is origin for token in update.tokens)


def _name(update: UpdateTrace) -> str:
    return f"{'final' if update.is_final else 'update'} {update.revision}"


def _occurring(updates: Sequence[UpdateTrace]) -> list[Origin]:
    return [one for one in Origin if any(_of_origin(one, update) for update in updates)]


_COUNTS = (
    Column("update", _name),
    Column("passes", lambda update: len(_passes(update))),
    Column("evaluated", lambda update: sum(one.evaluated for one in _passes(update))),
    Column("reused", lambda update: sum(one.passes[0].reused for one in update.windows if one.passes)),
    Column("kept", lambda update: sum(one.kept for one in _passes(update))),
    Column("rows", lambda update: sum(len(one.rows) for one in _passes(update))),
    Column("tokens", lambda update: len(update.tokens)),
    *(Column(origin.value, partial(_of_origin, origin)) for origin in Origin),
)
# Settings that are shown even if they have their default values.
_ALWAYS = ("from", "to", "method", "accept")


def signature(trace: Trace) -> str:
    """The model, the method, and the settings that differ from their defaults."""
    usual: dict[str, object] = msgspec.to_builtins(TranslateSettings())
    told = "|".join(
        f"{name}:{value}"
        for name, value in trace.settings.items()
        if name in _ALWAYS or (value is not None and value != usual.get(name))
    )
    return _safe(f"{trace.model}|{told}|surtitle:{trace.surtitle}")


def _output(update: UpdateTrace, trace: Trace) -> Text:
    """The output, with the letter of each origin before its tokens."""
    line = Text(f"{_name(update):>9} ")
    for origin, tokens in groupby(update.tokens, lambda token: token.origin):
        line.append(f" {KINDS[origin].letter}:", "dim")
        for token in tokens:
            space = " " * trace.pieces[token.id][:1].isspace()
            line.append(space + label(trace, token.id), KINDS[origin].style)
    return line


# Characters that XML does not allow.
_NOT_XML = dict.fromkeys((0xFFFE, 0xFFFF), "\ufffd")
_MAX_LABEL, _MAX_SAID = 16, 110


def _safe(words: str) -> str:
    """A text from outside without characters that a terminal, a browser or an XML reader cannot show."""
    return cleaned(words).translate(_NOT_XML)


def label(trace: Trace, token: int) -> str:
    """The displayed text of a token."""
    piece = trace.pieces[token]
    words = _safe(piece)
    if not words:
        return ("⏎" if "\n" in piece else "␣") if piece.isspace() else f"#{token}"
    return words if len(words) <= _MAX_LABEL else f"{words[: _MAX_LABEL - 1]}…"


def write_pictures(trace: Trace, folder: Path) -> int:
    """Write an SVG of the segment, and two of each update; return their number. Raises `OutputError`."""
    made = dict(pictures(trace))
    for stem, svg in made.items():
        write_atomically(folder / f"{stem}.svg", svg.encode())
    return len(made)


def pictures(trace: Trace) -> Iterator[tuple[str, str]]:
    """The pictures, with the names of their files."""
    title = f"Segment {trace.segment} of {_safe(trace.stream)}"
    yield "segment", _file(overview(trace), title, trace, trace.updates)
    for update in trace.updates:
        for number, window in enumerate(update.windows):
            part = f"-{number + 1}" if len(update.windows) > 1 else ""
            stem, heading = f"update-{update.revision:04d}{part}", f"{title}, {_name(update)}"
            said = _safe(update.source)
            if window.passes:
                yield f"{stem}-grid", _file(grid(window, trace), heading, trace, [update], said)
                yield f"{stem}-graph", _file(graph(window, trace), heading, trace, [update], said)


class Picture(NamedTuple):
    """Shapes, and what they show in words."""

    width: float
    height: float
    parts: list[Markup]
    words: str


_MIN_WIDTH, _LEFT, _MARGIN = 620.0, 96.0, 16.0
# Width of a letter of a token and of small print; of the narrowest cell; height of a cell; gap of two cells.
_LETTER, _SMALL, _MIN_CELL, _CELL, _GAP = 7.6, 5.8, 30.0, 24.0, 3.0
_FORMS = (
    "below a token: struck through if it was proposed and rejected, ≠ if it was more probable here",
    "dashed: proposed after the divergence, nothing decided (→ the model’s guess)",
)


def _file(inner: Picture, title: str, trace: Trace, updates: Sequence[UpdateTrace], said: str = "") -> str:
    """The file of a picture: with its style, heading, the text that was translated, and a legend."""
    how = f"{inner.words}; {_safe(str(trace.settings.get('method', '')))}, {_safe(trace.model)}"
    shown = said if len(said) <= _MAX_SAID else f"…{said[-_MAX_SAID:]}"
    top, y = 64.0, 64.0 + inner.height + 14
    parts = [
        tag("title", f"{title}. {inner.words}"),
        # Our own style sheet, the same for every picture.
        tag("style", Markup(packaged("trace.css"))),
        text(_MARGIN, 20, title, class_="token head"),
        text(_MARGIN, 36, how, class_="small"),
        text(_MARGIN, 54, shown, class_="said"),
        tag("g", Markup("").join(inner.parts), transform=f"translate({_MARGIN:g} {top:g})"),
    ]
    for origin in _occurring(updates):
        parts += [_box(_MARGIN, y, 20, 14, origin, None), text(_MARGIN + 26, y + 11, KINDS[origin].meaning)]
        y += 20
    for form in _FORMS if inner.words.startswith("Iterations") else ():
        parts.append(text(_MARGIN, y + 11, form))
        y += 20
    # What was said is as wide as its letters.
    wide = max(_MIN_WIDTH, inner.width, _SMALL * max(width(how), width(shown), width(title))) + 2 * _MARGIN
    ground = rect(0, 0, wide, y + 8, class_="ground")
    size = {"xmlns": SVG, "width": wide, "height": y + 8}
    svg = drawing(wide, y + 8, [*parts[:2], ground, *parts[2:]], f"{title}. {inner.words}", "trace", **size)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{svg}\n'


def _box(x: float, y: float, wide: float, high: float, origin: Origin, p: float | None) -> Markup:
    """The cell of a token: colour and letter of its origin, and its probability as a bar."""
    kind = origin.value.replace(" ", "-")
    shape = rect(x, y, wide, high, rx=3.0, class_=f"cell {kind}")
    shape += text(x + 3, y + 9, KINDS[origin].letter, class_=f"letter {kind}")
    if p:
        shape += rect(x + 3, y + high - 3.5, (wide - 6) * p, 1.5, class_=f"letter {kind}")
    return shape


def _cell_width(words: str) -> float:
    return max(_MIN_CELL, _LETTER * width(words) + 18)


def _token(x: float, y: float, wide: float, token: Token, trace: Trace, number: int) -> Markup:
    """A token of an output, which says to a pointer where it comes from."""
    words = label(trace, token.id)
    where = f" in pass {token.decided}" if token.decided else ""
    p = "" if token.p is None else f", probability {token.p:.2f}"
    tip = tag("title", f"{number}: “{words}”, {KINDS[token.origin].meaning}{where}{p}")
    shown = text(x + wide / 2 + 3, y + 16.5, words, class_="token", text_anchor="middle")
    return tag("g", tip + _box(x, y, wide, _CELL, token.origin, token.p) + shown)


def overview(trace: Trace) -> Picture:
    """The output of each update of a segment."""
    parts: list[Markup] = []
    y, wide = 0.0, _MIN_WIDTH
    for update in trace.updates:
        said = _safe(update.source)[-_MAX_SAID:]
        passes = len(_passes(update))
        parts += [
            text(0, y + 15, _name(update), class_="head"),
            text(0, y + 38, f"{passes} pass{'' if passes == 1 else 'es'}" if passes else "unchanged"),
            text(_LEFT, y + 15, said, class_="said"),
        ]
        x = _LEFT
        for number, token in enumerate(update.tokens, 1):
            own = _cell_width(label(trace, token.id))
            parts.append(_token(x, y + 22, own, token, trace, number))
            x += own + _GAP
        y, wide = y + 22 + _CELL + 12, max(wide, x, _LEFT + _SMALL * width(said))
    words = f"{len(trace.updates)} updates, and the origins of their tokens"
    return Picture(wide, y, parts, words)


class Cell(NamedTuple):
    """What a pass says about a place: a token, and another one below it after a mark."""

    #: What is drawn: ``end``, ``guess``, ``cut-off``, or a decided token, for which ``other`` was likelier.
    form: str
    token: int | None
    second: int | None = None
    #: Before the second token: ``≠`` if it was likelier, ``→`` for the model's guess, empty if it fell.
    mark: str = ""


def cell(row: LogitsRow, *, is_output: bool) -> Cell | None:
    """What to draw of a row of logits; ``is_output`` unless the output was cut before its place."""
    offered, choice, stands = row.offered, row.choice, row.stands
    if row.ends:
        return Cell("end", None, offered)
    if stands is None:
        return (
            None if offered is None else Cell("guess", offered, None if choice == offered else choice, "→ ")
        )
    if not is_output:
        return Cell("cut-off", stands)
    if offered not in (None, stands):
        return Cell("decided", stands, offered)
    return Cell("decided", stands) if choice == stands else Cell("other", stands, choice, "≠ ")


def grid(window: Decoding, trace: Trace) -> Picture:
    """The iterations of one output."""
    output = window.output
    passes = [
        {
            place: one
            for place, row in enumerate(each.rows, each.begin)
            if (one := cell(row, is_output=place < len(output))) is not None
        }
        for each in window.passes
    ]
    widths = [_cell_width(label(trace, token.id)) for token in output]
    for cells in passes:
        for place, one in cells.items():
            widths += [_MIN_CELL] * (place + 1 - len(widths))
            main = "" if one.token is None else label(trace, one.token)
            second = "" if one.second is None else one.mark + label(trace, one.second)
            widths[place] = max(widths[place], _cell_width(main), _SMALL * width(second) + 12)
    lefts = [_LEFT]
    for wide in widths:
        lefts.append(lefts[-1] + wide + _GAP)
    parts = [
        text(left + wide / 2, 9, str(place), class_="small", text_anchor="middle")
        for place, (left, wide) in enumerate(zip(lefts, widths, strict=False), 1)
    ]
    y, high = 14.0, 35.0
    for number, (cells, each) in enumerate(zip(passes, window.passes, strict=True), 1):
        cost = f"{each.evaluated} tokens, {len(each.rows)} rows"
        parts += [text(0, y + 15, f"pass {number}", class_="head"), text(0, y + 28, cost, class_="small")]
        for place, one in cells.items():
            row = each.rows[place - each.begin]
            origin = output[place].origin if place < len(output) else Origin.OWN
            parts.append(_cell(one, row, origin, (lefts[place], y, widths[place], high), trace))
        y += high + 4
    parts.append(text(0, y + 15, "output", class_="head"))
    for place, token in enumerate(output):
        parts.append(_token(lefts[place], y, widths[place], token, trace, place + 1))
    words = f"Iterations: {len(passes)} passes over {len(output)} tokens"
    return Picture(max(_MIN_WIDTH, lefts[-1]), y + _CELL, parts, words)


def _cell(
    one: Cell, row: LogitsRow, origin: Origin, place: tuple[float, float, float, float], trace: Trace
) -> Markup:
    x, y, wide, high = place
    middle = x + wide / 2
    if one.form == "end":
        shape = rect(middle - 4, y + 8, 8, 8, class_="end")
    elif one.form == "guess":
        shape = rect(x, y, wide, high, rx=3.0, class_="guess")
    else:
        p = None if one.token is None else row.p(one.token)
        shape = tag("g", _box(x, y, wide, high, origin, p), class_=one.form)
    told = [f"the model’s choice “{label(trace, row.choice)}” {row.p_choice:.2f}"]
    if one.token is not None:
        fell = " fell" if one.form == "cut-off" else ""
        words = label(trace, one.token)
        shape += text(middle + 3, y + 16.5, words, class_=f"token{fell}", text_anchor="middle")
        p = row.p(one.token)
        told.insert(0, f"“{words}”{'' if p is None else f' {p:.2f}'}")
    if one.second is not None:
        words = one.mark + label(trace, one.second)
        fell = "" if one.mark else " fell"
        shape += text(middle + 3, y + 29, words, class_=f"small{fell}", text_anchor="middle")
    return tag("g", tag("title", "; ".join(told)) + shape)


def graph(window: Decoding, trace: Trace) -> Picture:
    """The dependencies of one output."""
    # The first cell stands for the text before the output.
    widths = [_MIN_CELL, *(_cell_width(label(trace, token.id)) for token in window.output)]
    lefts = [0.0]
    for wide in widths:
        lefts.append(lefts[-1] + wide + _GAP)
    middles = [left + wide / 2 for left, wide in zip(lefts, widths, strict=False)]
    decided = [0, *(token.decided for token in window.output)]
    arcs = list(_arcs(decided))
    heights = [min(64.0, 9.0 + 0.14 * (middles[target] - middles[source])) for source, target in arcs]
    y = max([9.0, *heights]) + 6
    parts: list[Markup] = []
    for number, group in groupby(range(1, len(decided)), key=lambda place: decided[place]):
        places = list(group)
        left, right = lefts[places[0]], lefts[places[-1] + 1] - _GAP
        if number % 2 == 0:
            parts.append(rect(left - 1, y - 3, right - left + 2, _CELL + 24, rx=3.0, class_="band"))
        path = f"M{left + 1:.1f} {y + _CELL + 3:.1f} v4 H{right - 1:.1f} v-4"
        parts.append(tag("path", d=path, class_="bracket"))
        name, short = (f"pass {number}", str(number)) if number else ("committed", "C")
        words = name if right - left > 56 else short
        parts.append(text((left + right) / 2, y + _CELL + 18, words, class_="small", text_anchor="middle"))
    for (source, target), high in zip(arcs, heights, strict=True):
        begin, end, handle = middles[source], middles[target], y - high * 4 / 3
        path = f"M{begin:.1f} {y:.1f} C{begin:.1f} {handle:.1f} {end:.1f} {handle:.1f} {end:.1f} {y - 3:.1f}"
        tip = f"M{end - 3:.1f} {y - 5:.1f} L{end + 3:.1f} {y - 5:.1f} L{end:.1f} {y:.1f} Z"
        parts += [tag("path", d=path, class_="arc"), tag("path", d=tip, class_="tip")]
    parts.append(text(middles[0], y + 17, "▶", class_="token", text_anchor="middle"))
    for number, token in enumerate(window.output, 1):
        parts.append(_token(lefts[number], y, widths[number], token, trace, number))
    words = f"{len(window.output)} tokens were decided in {len(window.passes)} passes"
    return Picture(max(_MIN_WIDTH, lefts[-1]), y + _CELL + 24, parts, f"Decoding dependency graph: {words}")


def _arcs(decided: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Arcs from the token that each one had to wait for; committed tokens waited for none."""
    last = 0
    for place in range(1, len(decided)):
        if decided[place] != decided[place - 1]:
            last = place - 1
        if decided[place]:
            yield last, place
