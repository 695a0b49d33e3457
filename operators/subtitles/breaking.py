"""Splits a text, or a text and its translation side by side, into what fits on the screen at once.

The rules are those of broadcasters: two lines at most, no word divided, breaks at the end of a sentence
rather than of a clause, of a clause rather than between two words, and lines of about the same length.
"""

from collections.abc import Sequence
from typing import NamedTuple

from operators.subtitles.breakable import BreakableText, Span
from operators.text_layout import width

#: Lines of a cue.
LINES = 2


class Text(NamedTuple):
    """A cleaned text and the columns of its lines."""

    text: str
    columns: int


class Block(NamedTuple):
    """What is on the screen at once."""

    lines: tuple[str, ...]
    #: Columns that a viewer reads: those of the longer one of two texts.
    columns: int


def split(texts: Sequence[Text], blocks: int = 1) -> list[Block]:
    """Split a text, or several that say the same, into blocks of at most `LINES` lines in all.

    Several texts are split at about the same parts of each, so that what is on the screen belongs together;
    each then has its share of the lines.

    Args:
        texts: Cleaned texts, in the order in which they are seen; empty ones are left out.
        blocks: Blocks to aim at, as far as each has enough text for half a line; there may be more.
    """
    given = [text for text in texts if text.text.strip()]
    broken = [BreakableText(text.text, text.columns, LINES // len(given)) for text in given]
    made: list[list[Span]] = []
    left = [([one.all for one in broken], blocks)]
    while left:
        spans, wanted = left.pop()
        count = _count(broken, spans, wanted)
        if count > 1:
            first = count // 2
            earlier, later = _cut(broken, spans, first / count)
            # The later part waits below the earlier one.
            left += [(later, wanted - wanted * first // count), (earlier, wanted * first // count)]
        elif any(span.begin < span.end for span in spans):
            made.append(spans)
    return [_block(broken, spans) for spans in _joined(broken, made, blocks)]


def _joined(broken: list[BreakableText], made: list[list[Span]], blocks: int) -> list[list[Span]]:
    """Join neighbours that fit in one block, which cutting in halves may leave behind."""
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
    """How many blocks the spans are to become."""
    pairs = list(zip(broken, spans, strict=True))
    needed = max((one.blocks(span) for one, span in pairs), default=0)
    half_lines = max((2 * one.width(span) // one.columns for one, span in pairs), default=0)
    return max(needed, min(wanted, half_lines))


def _cut(broken: list[BreakableText], spans: list[Span], part: float) -> tuple[list[Span], list[Span]]:
    """Cut all texts at about the same part of each; the longest leads, and the others go with its sense."""
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
