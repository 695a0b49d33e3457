"""Splits a text, or a text and its translation side by side, into what fits on the screen at once.

The rules are those of broadcasters: two lines at most, no word divided, breaks at the end of a sentence
rather than of a clause, of a clause rather than between two words, and lines of about the same length.
"""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import regex

from operators.subtitles.direction import Marks
from operators.text_layout import Piece, pieces, width

#: Lines of a cue.
LINES = 2

# What closes a sentence or a clause, with the quotes and brackets behind it.
_SENTENCE = regex.compile(r"[.!?…。！？．؟۔।][\p{Pe}\p{Pf}\"']*$")
_CLAUSE = regex.compile(r"[,;:،؛、，；：–—][\p{Pe}\p{Pf}\"']*$")
# In Japanese endings and particles, written in hiragana, cling to what is before them.
_JAPANESE_WORD_END = regex.compile(r"\p{Hiragana}\P{Hiragana}")
# In katakana there is one word after the other without a sign of it, but most often there is only one.
_IDEOGRAPH = regex.compile(r"[\p{Han}\p{Hiragana}]")

# How bad a break is, in columns that it may be away from the ideal place to be avoided.
_AFTER_CLAUSE = 12.0
_BETWEEN_WORDS = 35.0
_BETWEEN_CHARACTERS = 45.0
_INSIDE_WORD = 200.0
# What an upper line that is longer than the lower one costs, in columns.
_TOP_HEAVY = 4.0


class Text(NamedTuple):
    """A cleaned text and the columns of its lines."""

    text: str
    columns: int


class Block(NamedTuple):
    """What is on the screen at once."""

    lines: tuple[str, ...]
    #: Columns that a viewer reads: those of the longer one of two texts.
    columns: int


class _Span(NamedTuple):
    """Some pieces of a text."""

    begin: int
    end: int


class _Broken:
    """A text as pieces, and how good a break is after each of them."""

    def __init__(self, text: Text, lines: int) -> None:
        self.marks = Marks.of(text.text)
        self.columns = text.columns
        self.lines = lines
        # White space that takes room but shows nothing must not become a line.
        self.pieces = [piece for piece in pieces(text.text, text.columns) if piece.text.strip()]
        sizes = (piece.columns + piece.is_spaced for piece in self.pieces)
        #: Columns up to each piece, in a line without end.
        self._at = [0, *accumulate(sizes)]
        self._costs = [0.0, *(_cost(*pair) for pair in pairwise(self.pieces)), 0.0]

    @property
    def all(self) -> _Span:
        return _Span(0, len(self.pieces))

    def width(self, span: _Span) -> int:
        if span.begin == span.end:
            return 0
        return self._at[span.end] - self._at[span.begin] - self.pieces[span.begin].is_spaced

    def blocks(self, span: _Span) -> int:
        """How many blocks the pieces need."""
        lines, begin = 0, span.begin
        while begin < span.end:
            begin = self._line_end(begin, span.end)
            lines += 1
        return -(-lines // self.lines)

    def _line_end(self, begin: int, end: int) -> int:
        """The end of the longest line that begins there."""
        most = self._at[begin] + self.pieces[begin].is_spaced + self.columns
        return max(begin + 1, bisect_left(self._at, most + 1, begin, end + 1) - 1)

    def cut(self, span: _Span, part: float) -> int:
        """The best place to cut near a part of the whole; it leaves something on both sides, if it can."""
        ideal = self._at[span.begin] + part * self.width(span)
        first, last = span.begin + 1, span.end - 1
        if first > last:
            return span.end if part >= 0.5 else span.begin
        reach = self.lines * self.columns / 2
        low = min(last, bisect_left(self._at, ideal - reach, first, last + 1))
        high = min(last, bisect_left(self._at, ideal + reach, first, last + 1))
        return min(range(low, high + 1), key=lambda at: abs(self._at[at] - ideal) + self._costs[at])

    def part(self, span: _Span, at: int) -> float:
        """Which part of the pieces is before a place."""
        return self.width(_Span(span.begin, at)) / max(1, self.width(span))

    def set(self, span: _Span) -> list[str]:
        """The lines of pieces that fit in one block."""
        if span.begin == span.end:
            return []
        if self.width(span) <= self.columns:
            return [self._line(span)]
        last = self._line_end(span.begin, span.end)
        halves = ((_Span(span.begin, at), _Span(at, span.end)) for at in range(span.begin + 1, last + 1))
        upper, lower = min((one for one in halves if self.width(one[1]) <= self.columns), key=self._imbalance)
        return [self._line(upper), self._line(lower)]

    def _imbalance(self, lines: tuple[_Span, _Span]) -> float:
        upper, lower = map(self.width, lines)
        return self._costs[lines[0].end] + abs(upper - lower) + _TOP_HEAVY * (upper > lower)

    def _line(self, span: _Span) -> str:
        parts = (" " * piece.is_spaced + piece.text for piece in self.pieces[span.begin : span.end])
        return "".join(parts).removeprefix(" ")


def _cost(before: Piece, after: Piece) -> float:
    if _SENTENCE.search(before.text):
        return 0.0
    if _CLAUSE.search(before.text):
        return _AFTER_CLAUSE
    if after.is_spaced:
        return _BETWEEN_WORDS
    both = before.text[-1:] + after.text[:1]
    if _JAPANESE_WORD_END.fullmatch(both):
        return _BETWEEN_WORDS
    return _BETWEEN_CHARACTERS if _IDEOGRAPH.search(both) else _INSIDE_WORD


def split(texts: Sequence[Text], blocks: int = 1) -> list[Block]:
    """Split a text, or several that say the same, into blocks of at most `LINES` lines in all.

    Several texts are split at about the same parts of each, so that what is on the screen belongs together;
    each then has its share of the lines.

    :arg texts: Cleaned texts, in the order in which they are seen; empty ones are left out.
    :arg blocks: Blocks to aim at, as far as each has enough text for half a line; there may be more.
    """
    given = [text for text in texts if text.text.strip()]
    broken = [_Broken(text, LINES // len(given)) for text in given]
    made: list[list[_Span]] = []
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


def _joined(broken: list[_Broken], made: list[list[_Span]], blocks: int) -> list[list[_Span]]:
    """Join neighbours that fit in one block, which cutting in halves may leave behind."""
    joined: list[list[_Span]] = []
    for index, spans in enumerate(made):
        if joined and len(joined) + len(made) - index > blocks:
            both = [_Span(one.begin, other.end) for one, other in zip(joined[-1], spans, strict=True)]
            if _count(broken, both, 1) == 1:
                joined[-1] = both
                continue
        joined.append(spans)
    return joined


def _count(broken: list[_Broken], spans: list[_Span], wanted: int) -> int:
    """How many blocks the spans are to become."""
    pairs = list(zip(broken, spans, strict=True))
    needed = max((one.blocks(span) for one, span in pairs), default=0)
    half_lines = max((2 * one.width(span) // one.columns for one, span in pairs), default=0)
    return max(needed, min(wanted, half_lines))


def _cut(broken: list[_Broken], spans: list[_Span], part: float) -> tuple[list[_Span], list[_Span]]:
    """Cut all texts at about the same part of each; the longest leads, and the others go with its sense."""
    leading = max(range(len(spans)), key=lambda index: broken[index].blocks(spans[index]))
    at = broken[leading].cut(spans[leading], part)
    part = broken[leading].part(spans[leading], at)
    cuts = [one.cut(span, part) for one, span in zip(broken, spans, strict=True)]
    cuts[leading] = at
    earlier = [_Span(span.begin, at) for span, at in zip(spans, cuts, strict=True)]
    later = [_Span(at, span.end) for span, at in zip(spans, cuts, strict=True)]
    return earlier, later


def _block(broken: list[_Broken], spans: list[_Span]) -> Block:
    texts = [one.set(span) for one, span in zip(broken, spans, strict=True)]
    lines = [one.marks.around(line) for one, text in zip(broken, texts, strict=True) for line in text]
    return Block(tuple(lines), max(sum(map(width, text)) for text in texts))
