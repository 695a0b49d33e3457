"""Pictures of a trace, the same inside a page and as files: their shapes, and the overview of a segment.

The overview has a row of output tokens for each update, in the colours of their origins.
"""

from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import NamedTuple

from markupsafe import Markup

from flows.pages.drawing import SVG, drawing, line, rect, tag, text
from operators.decoding.forward import Origin
from operators.decoding.trace import Token, UpdateTrace
from operators.text import cleaned, cluster_width, clusters, width

#: Minimum and maximum width of a picture; and width of a column of its text, for tokens and small print.
MIN_WIDTH, WIDTH = 620.0, 1000.0
#: Minimum width of a token's cell: its letter and the token do not meet there.
MIN_CELL = 30.0
LETTER, SMALL = 7.6, 5.8
#: Maximum columns of text of a token.
MAX_TOKEN_COLUMNS = 16


class Kind(NamedTuple):
    """How the tokens of an origin are told apart."""

    #: In addition to its colour, and the style of the terminal.
    letter: str
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

# Characters that XML does not allow.
_NOT_XML = dict.fromkeys((0xFFFE, 0xFFFF), "\ufffd")


class Picture(NamedTuple):
    """Shapes with their text alternative."""

    width: float
    height: float
    parts: tuple[Markup, ...]
    label: str

    def inline(self) -> Markup:
        """The picture for a page that has its style."""
        return self._svg(self.parts)

    def file(self) -> str:
        """The picture as a file that includes its style."""
        ground = rect(0, 0, self.width, self.height, class_="ground")
        # Our own style sheet, the same for every picture.
        style = tag("style", Markup(style_sheet()))
        title = tag("title", self.label)
        return f'<?xml version="1.0" encoding="UTF-8"?>\n{self._svg((title, style, ground, *self.parts))}\n'

    def _svg(self, parts: tuple[Markup, ...]) -> Markup:
        size = {"xmlns": SVG, "width": self.width, "height": self.height}
        return drawing(self.width, self.height, parts, self.label, "trace", **size)


class Label(NamedTuple):
    """The displayed text of a token."""

    text: str
    columns: int
    #: Whether a word begins with it.
    begins: bool


class Labels:
    """The texts of tokens from outside, made safe and short."""

    def __init__(self, pieces: dict[int, str]) -> None:
        self._pieces = pieces
        self._labels: dict[int, Label] = {}

    def of(self, token: int) -> Label:
        """The label of a token."""
        label = self._labels.get(token)
        if label is None:
            label = self._labels[token] = _label(token, self._pieces[token])
        return label


def _label(token: int, piece: str) -> Label:
    words = safe(piece)
    if not words:
        # White space is shown as a mark, and a token without text by its id.
        words = ("⏎" if "\n" in piece else "␣") if piece.isspace() else f"#{token}"
    words = shortened(words, MAX_TOKEN_COLUMNS)
    return Label(words, width(words), piece[:1].isspace())


def safe(words: str) -> str:
    """A text from outside without characters that a browser or an XML reader cannot show."""
    return cleaned(words).translate(_NOT_XML)


def shortened(words: str, columns: int, *, end: bool = False) -> str:
    """The beginning of a safe text, or its ``end``, that fits into a number of columns."""
    if width(words) <= columns:
        return words
    kept: list[str] = []
    used = 1
    each = clusters(words)
    for cluster in reversed(each) if end else each:
        used += cluster_width(cluster)
        if used > columns:
            break
        kept.append(cluster)
    return "…" + "".join(reversed(kept)).lstrip() if end else "".join(kept).rstrip() + "…"


def kind(origin: Origin) -> str:
    """The CSS class of an origin's shapes."""
    return origin.value.replace(" ", "-")


def standing(
    x: float, y: float, wide: float, high: float, origin: Origin, p: float | None, more: str = ""
) -> Markup:
    """The shape of an accepted token: colour and letter of its origin, and its probability as a bar."""
    shape = rect(x, y, wide, high, rx=3.0, class_=f"cell {kind(origin)}{more}")
    shape += text(x + 3, y + 9, KINDS[origin].letter, class_=f"letter {kind(origin)}")
    if p:
        shape += rect(x + 3, y + high - 3.5, (wide - 6) * p, 1.5, class_=f"letter {kind(origin)}")
    return shape


def chip(x: float, y: float, wide: float, high: float, label: Label, token: Token, tip: str) -> Markup:
    """A token of an output."""
    shape = standing(x, y, wide, high, token.origin, token.p)
    told = text(x + wide / 2 + 3, y + 16.5, label.text, class_="token", text_anchor="middle")
    return tag("g", tag("title", tip) + shape + told)


def chip_width(label: Label) -> float:
    """The width of a token's cell, with space for its letter."""
    return max(MIN_CELL, LETTER * label.columns + 18)


def style_sheet() -> str:
    """The style of the pictures."""
    return files("flows.pages.trace").joinpath("trace.css").read_text(encoding="utf-8")


LEFT, TOP = 96.0, 4.0
#: Height of a token's cell, and distance from one line to the next.
HIGH, PITCH = 24.0, 28.0
#: Gap between two tokens, and between two words.
GAP, SPACE = 1.0, 5.0


class Placed(NamedTuple):
    """A cell on a line of cells."""

    line: int
    x: float
    width: float
    label: Label


def flowing(labels: Sequence[Label], left: float = LEFT) -> list[Placed]:
    """Cells side by side, broken into lines like words."""
    placed: list[Placed] = []
    number, x = 0, left
    for label in labels:
        wide = chip_width(label)
        gap = 0.0 if x == left else SPACE if label.begins else GAP
        if x > left and x + gap + wide > WIDTH - 4:
            number, x, gap = number + 1, left, 0.0
        placed.append(Placed(number, x + gap, wide, label))
        x += gap + wide
    return placed


def overview(updates: Sequence[UpdateTrace], labels: Labels) -> Picture:
    """The picture of a segment."""
    rows = [flowing([labels.of(token.id) for token in update.tokens]) for update in updates]
    said = [LEFT + SMALL * width(_said(update)) for update in updates]
    wide = max([MIN_WIDTH, *said, *(at.x + at.width for placed in rows for at in placed)])
    parts: list[Markup] = []
    y = TOP
    for update, placed in zip(updates, rows, strict=True):
        parts += [line(0, y, wide, y, class_="rule"), *_head(update, y)]
        y += 22
        for number, (token, at) in enumerate(zip(update.tokens, placed, strict=True), 1):
            tip = token_words(token, at.label.text, number)
            parts.append(chip(at.x, y + at.line * PITCH, at.width, HIGH, at.label, token, tip))
        y += (placed[-1].line + 1 if placed else 1) * PITCH + 6
    words = f"{len(updates)} update{'' if len(updates) == 1 else 's'}, and the origins of their tokens"
    return Picture(wide, y, tuple(parts), words)


def _head(update: UpdateTrace, y: float) -> Iterator[Markup]:
    passes = update.passes
    yield text(0, y + 15, name(update), class_="head")
    yield text(0, y + 38, f"{passes} pass{'' if passes == 1 else 'es'}" if passes else "unchanged")
    yield text(LEFT, y + 15, _said(update), class_="said")


def _said(update: UpdateTrace) -> str:
    return shortened(safe(update.source), int((WIDTH - LEFT) / SMALL) - 4, end=True)


def name(update: UpdateTrace) -> str:
    """The name of an update."""
    return f"{'final' if update.is_final else 'update'} {update.revision}"


def token_words(token: Token, label: str, number: int) -> str:
    """The description of a token in words."""
    where = f" in pass {token.decided}" if token.decided else ""
    p = "" if token.p is None else f", probability {token.p:.2f}"
    return f"{number}: “{label}”, {KINDS[token.origin].meaning}{where}{p}"
