"""Splits a text, or a text and its translation, into blocks that fit on the screen.

The rules are those of broadcasters: at most two lines, no divided words, breaks at the end of a sentence
rather than of a clause, and of a clause rather than between two words, and lines of about the same length.
"""

from collections.abc import Sequence
from typing import NamedTuple

from operators.subtitles.breakable import BreakableText, Span
from operators.text_layout import width

#: Lines of a cue.
MAX_LINES = 2


class Text(NamedTuple):
    """A cleaned text and the columns of its lines."""

    text: str
    columns: int


class Block(NamedTuple):
    """The text that is on the screen at one time."""

    lines: tuple[str, ...]
    #: Columns that a viewer reads: those of the longer text if there are two.
    columns: int


def split(texts: Sequence[Text], blocks: int = 1) -> list[Block]:
    """Split a text, or several versions of it, into blocks of at most `MAX_LINES` lines in all.

    Several texts are split at about the same places, so that the texts of a block belong together; each gets
    its share of the lines.

    Args:
        texts: Cleaned texts in display order; empty ones are left out.
        blocks: Number of blocks to aim at, if each gets enough text for half a line; there may be more.
    """
    given = [text for text in texts if text.text.strip()]
    broken = [BreakableText(text.text, text.columns, MAX_LINES // len(given)) for text in given]
    made: list[list[Span]] = []
    left = [([one.all for one in broken], blocks)]
    while left:
        spans, wanted = left.pop()
        count = _count(broken, spans, wanted)
        if count > 1:
            first = count // 2
            earlier, later = _cut(broken, spans, first / count)
            # The later part waits on the stack below the earlier one.
            left += [(later, wanted - wanted * first // count), (earlier, wanted * first // count)]
        elif any(span.begin < span.end for span in spans):
            made.append(spans)
    return [_block(broken, spans) for spans in _joined(broken, made, blocks)]


def _joined(broken: list[BreakableText], made: list[list[Span]], blocks: int) -> list[list[Span]]:
    """Join neighbours that fit into one block, which cutting in halves may leave over."""
    joined: list[list[Span]] = []
    for index, spans in enumerate(made):
        if joined and len(joined) + len(made) - index > blocks:
            both = [Span(one.begin, other.end) for one, other in zip(joined[-1], spans, strict=True)]
            if _count(broken, both, 1) == 1:
                joined[-1] = both
                continue
        joined.append(spans)
    return joined


def _count(broken: list[BreakableText], spans: list[Span], wanted: int) -> int:
    """Into how many blocks to split the spans."""
    pairs = list(zip(broken, spans, strict=True))
    needed = max((one.blocks(span) for one, span in pairs), default=0)
    half_lines = max((2 * one.width(span) // one.columns for one, span in pairs), default=0)
    return max(needed, min(wanted, half_lines))


def _cut(broken: list[BreakableText], spans: list[Span], part: float) -> tuple[list[Span], list[Span]]:
    """Cut all texts at about the same place; the longest one decides, and the others follow."""
    leading = max(range(len(spans)), key=lambda index: broken[index].blocks(spans[index]))
    at = broken[leading].cut(spans[leading], part)
    part = broken[leading].part(spans[leading], at)
    cuts = [one.cut(span, part) for one, span in zip(broken, spans, strict=True)]
    cuts[leading] = at
    earlier = [Span(span.begin, at) for span, at in zip(spans, cuts, strict=True)]
    later = [Span(at, span.end) for span, at in zip(spans, cuts, strict=True)]
    return earlier, later


def _block(broken: list[BreakableText], spans: list[Span]) -> Block:
    texts = [one.set(span) for one, span in zip(broken, spans, strict=True)]
    lines = [one.marks.around(line) for one, text in zip(broken, texts, strict=True) for line in text]
    return Block(tuple(lines), max(sum(map(width, text)) for text in texts))
