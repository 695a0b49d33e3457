"""One text, and the quality of each place where it may be broken."""

from bisect import bisect_left
from itertools import accumulate, pairwise
from typing import NamedTuple

import regex

from operators.subtitles.direction import Marks
from operators.text_layout import Piece, pieces

# The end of a sentence or a clause, with the quotes and brackets after it.
_SENTENCE = regex.compile(r"[.!?…。！？．؟۔।][\p{Pe}\p{Pf}\"']*$")
_CLAUSE = regex.compile(r"[,;:،؛、，；：–—][\p{Pe}\p{Pf}\"']*$")
# Most likely a title, an initial or an abbreviation.
_ABBREVIATED = regex.compile(r"\p{Lu}\p{L}{0,2}\.|(?:\p{L}{1,3}\.){2,}")
# Japanese endings and particles, written in hiragana, belong to what is before them.
_JAPANESE_WORD_END = regex.compile(r"\p{Hiragana}\P{Hiragana}")
# Katakana does not mark the border between words, but mostly there is only one word.
_IDEOGRAPH = regex.compile(r"[\p{Han}\p{Hiragana}]")

# The cost of a break: how many columns away from the ideal place a better break may be.
_AFTER_CLAUSE = 12.0
_BETWEEN_WORDS = 35.0
_BETWEEN_CHARACTERS = 45.0
_INSIDE_WORD = 200.0
# The cost in columns of an upper line that is longer than the lower one.
_TOP_HEAVY = 4.0


class Span(NamedTuple):
    """Some pieces of a text."""

    begin: int
    end: int


class BreakableText:
    """A text as pieces, and the quality of a break before each of them."""

    def __init__(self, text: str, columns: int, lines: int) -> None:
        self.marks = Marks.of(text)
        self.columns = columns
        self._lines = lines
        # White space that takes space but shows nothing must not become a line.
        self._pieces = [piece for piece in pieces(text, columns) if piece.text.strip()]
        sizes = (piece.columns + piece.is_spaced for piece in self._pieces)
        #: Columns up to each piece, in an endless line.
        self._at = [0, *accumulate(sizes)]
        self._costs = [0.0, *(_cost(*pair) for pair in pairwise(self._pieces)), 0.0]

    @property
    def all(self) -> Span:
        """All pieces."""
        return Span(0, len(self._pieces))

    def width(self, span: Span) -> int:
        """Columns of pieces in one line."""
        if span.begin == span.end:
            return 0
        return self._at[span.end] - self._at[span.begin] - self._pieces[span.begin].is_spaced

    def blocks(self, span: Span) -> int:
        """How many blocks the pieces need."""
        lines, begin = 0, span.begin
        while begin < span.end:
            begin = self._line_end(begin, span.end)
            lines += 1
        return -(-lines // self._lines)

    def _line_end(self, begin: int, end: int) -> int:
        """The end of the longest line that begins there."""
        most = self._at[begin] + self._pieces[begin].is_spaced + self.columns
        return max(begin + 1, bisect_left(self._at, most + 1, begin, end + 1) - 1)

    def cut(self, span: Span, part: float) -> int:
        """The best place to cut near a share of the whole; leaves something on both sides if possible."""
        ideal = self._at[span.begin] + part * self.width(span)
        first, last = span.begin + 1, span.end - 1
        if first > last:
            return span.end if part >= 0.5 else span.begin
        reach = self._lines * self.columns / 2
        low = min(last, bisect_left(self._at, ideal - reach, first, last + 1))
        high = min(last, bisect_left(self._at, ideal + reach, first, last + 1))
        return min(range(low, high + 1), key=lambda at: abs(self._at[at] - ideal) + self._costs[at])

    def part(self, span: Span, at: int) -> float:
        """The share of the pieces before a place."""
        return self.width(Span(span.begin, at)) / max(1, self.width(span))

    def set(self, span: Span) -> list[str]:
        """The lines of pieces that fit into one block of at most two lines."""
        if span.begin == span.end:
            return []
        if self.width(span) <= self.columns:
            return [self._line(span)]
        last = self._line_end(span.begin, span.end)
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
