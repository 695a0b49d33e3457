"""A whole segment: one row of output tokens per update, in the colours of their origins."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from markupsafe import Markup

from flows.pages.svg import line, text
from flows.pages.trace.picture import (
    MEANINGS,
    MIN_WIDTH,
    SMALL,
    WIDTH,
    Label,
    Labels,
    Picture,
    chip,
    chip_width,
    safe,
    shortened,
)
from operators.decoding.trace import Token, UpdateTrace
from operators.text import width

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
    return f"{number}: “{label}”, {MEANINGS[token.origin]}{where}{p}"
