"""Splits a text, or a text and its translation, into blocks that fit on the screen.

The rules are those of broadcasters: at most two lines, no divided words, breaks at the end of a sentence
rather than of a clause, and of a clause rather than between two words, and lines of about the same length.

Players take the direction of a line from its first letter, or assume left to right. Both can put the full
stop of an Arabic line, or a Latin name at its beginning, on the wrong side.
"""

import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import regex

from operators.languages import SENTENCE_MARKS
from operators.text import Piece, pieces, width

# Right-to-left and left-to-right embedding, and their end mark (UAX 9). Players are older than isolates.
_RLE, _LRE, _PDF = "\u202b", "\u202a", "\u202c"


def _marks(text: str) -> tuple[str, str]:
    """The marks before and after each line of a text: empty unless it contains a right-to-left letter."""
    classes = [] if text.isascii() else [unicodedata.bidirectional(char) for char in text]
    right_to_left = classes.count("R") + classes.count("AL")
    if right_to_left == 0:
        return "", ""
    return (_RLE if right_to_left >= classes.count("L") else _LRE), _PDF


# The end of a sentence or a clause, with the quotes and brackets after it.
_SENTENCE = regex.compile(rf"[{SENTENCE_MARKS}][\p{{Pe}}\p{{Pf}}\"']*$")
_CLAUSE = regex.compile(r"[,;:،؛、，；：–—][\p{Pe}\p{Pf}\"']*$")
# Most likely a title, an initial or an abbreviation.
_ABBREVIATED = regex.compile(r"\p{Lu}\p{L}{0,2}\.|(?:\p{L}{1,3}\.){2,}")
# Japanese endings and particles, written in hiragana, belong to the word before them.
_JAPANESE_WORD_END = regex.compile(r"\p{Hiragana}\P{Hiragana}")
# Katakana does not mark borders between words, but a row of it is mostly a single word.
_IDEOGRAPH = regex.compile(r"[\p{Han}\p{Hiragana}]")

# The cost of a break: how many columns away from the ideal place a better break may be.
_AFTER_CLAUSE = 12.0
_BETWEEN_WORDS = 35.0
_BETWEEN_CHARACTERS = 45.0
_INSIDE_WORD = 200.0
# The cost in columns of an upper line that is longer than the lower one.
_TOP_HEAVY = 4.0


class Span(NamedTuple):
    begin: int
    end: int


class Text(NamedTuple):
    text: str
    #: Columns per line, and columns that a viewer reads per second.
    columns: int
    speed: int = 17


class BreakableText:
    """A text as pieces, and the quality of a break before each of them."""

    def __init__(self, given: Text, lines: int) -> None:
        text, columns, self.speed = given
        self.marks = _marks(text)
        self.columns = columns
        self._lines = lines
        # Pieces of white space must not become a line.
        self._pieces = [piece for piece in pieces(text, columns) if piece.text.strip()]
        sizes = (piece.columns + piece.is_spaced for piece in self._pieces)
        #: Columns up to each piece, in an endless line.
        self._at = [0, *accumulate(sizes)]
        self._costs = [0.0, *(_cost(*pair) for pair in pairwise(self._pieces)), 0.0]

        self.all = Span(0, len(self._pieces))

    def width(self, span: Span) -> int:
        """Columns of pieces in one line."""
        if span.begin == span.end:
            return 0
        return self._at[span.end] - self._at[span.begin] - self._pieces[span.begin].is_spaced

    def blocks(self, span: Span) -> int:
        lines, begin = 0, span.begin
        while begin < span.end:
            begin = self._line_end(begin)
            lines += 1
        return -(-lines // self._lines)

    def _line_end(self, begin: int) -> int:
        """The end of the longest line that begins there; a span may end before it."""
        most = self._at[begin] + self._pieces[begin].is_spaced + self.columns
        return max(begin + 1, bisect_right(self._at, most, begin) - 1)

    def cut(self, span: Span, part: float) -> int:
        """The best place to cut near a share of the whole; both sides are nonempty if possible."""
        ideal = self._at[span.begin] + part * self.width(span)
        first, last = span.begin + 1, span.end - 1
        if first > last:
            return span.end if part >= 0.5 else span.begin
        reach = self._lines * self.columns / 2
        low = bisect_left(self._at, ideal - reach, first, last)
        high = bisect_left(self._at, ideal + reach, first, last)
        return min(range(low, high + 1), key=lambda at: abs(self._at[at] - ideal) + self._costs[at])

    def part(self, span: Span, at: int) -> float:
        """The share of the pieces before a place."""
        return self.width(Span(span.begin, at)) / max(1, self.width(span))

    def lines(self, span: Span) -> list[str]:
        """The lines of pieces that fit into one block of at most two lines, without their marks."""
        if span.begin == span.end:
            return []
        if self.width(span) <= self.columns:
            return [self._line(span)]
        last = self._line_end(span.begin)
        halves = ((Span(span.begin, at), Span(at, span.end)) for at in range(span.begin + 1, last + 1))
        upper, lower = min((one for one in halves if self.width(one[1]) <= self.columns), key=self._imbalance)
        return [self._line(upper), self._line(lower)]

    def _imbalance(self, lines: tuple[Span, Span]) -> float:
        upper, lower = map(self.width, lines)
        return self._costs[lines[0].end] + abs(upper - lower) + _TOP_HEAVY * (upper > lower)

    def _line(self, span: Span) -> str:
        parts = (" " * piece.is_spaced + piece.text for piece in self._pieces[span.begin : span.end])
        return "".join(parts).removeprefix(" ")


def _cost(before: Piece, after: Piece) -> float:
    goes_on = after.is_spaced and (after.text[0].islower() or _ABBREVIATED.fullmatch(before.text))
    if _SENTENCE.search(before.text) and not goes_on:
        return 0.0
    if _CLAUSE.search(before.text):
        return _AFTER_CLAUSE
    if after.is_spaced:
        return _BETWEEN_WORDS
    both = before.text[-1:] + after.text[:1]
    if _JAPANESE_WORD_END.fullmatch(both):
        return _BETWEEN_WORDS
    return _BETWEEN_CHARACTERS if _IDEOGRAPH.search(both) else _INSIDE_WORD


#: Maximum lines of a cue.
MAX_LINES = 2


class CueText(NamedTuple):
    lines: tuple[str, ...]
    #: Columns to read, and columns read per second; for two texts, those of the one that takes longer.
    columns: int
    speed: int = 17


def split(texts: Sequence[Text], blocks: int) -> list[CueText]:
    """Split a text, or several versions of it, into blocks of at most `MAX_LINES` lines in all.

    Several texts are split at about the same places, because the texts of a block belong together. Each gets
    its share of the lines.

    Args:
        texts: Cleaned texts in display order; empty ones are left out.
        blocks: Target number of blocks, if each gets enough text for half a line; there may be more.
    """
    given = [text for text in texts if text.text.strip()]
    broken = [BreakableText(text, MAX_LINES // len(given)) for text in given]
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
    """Join neighbours that fit into one block; cutting in halves may make too many blocks."""
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
    both = list(zip(spans, cuts, strict=True))
    return [Span(span.begin, at) for span, at in both], [Span(at, span.end) for span, at in both]


def _block(broken: list[BreakableText], spans: list[Span]) -> CueText:
    lines, read = [], [(0, 17)]
    for one, span in zip(broken, spans, strict=True):
        before, after = one.marks
        lines += [before + line + after for line in one.lines(span)]
        read.append((sum(map(width, one.lines(span))), one.speed))
    return CueText(tuple(lines), *max(read, key=lambda one: one[0] / one[1]))
