"""A segment as a picture: each token is a bar from its display to its erasure; the text reads downwards."""

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from flows.pages.drawing import Scale, drawing, line, rect, tag, text, ticks
from flows.pages.report.reading import Detail, Moment
from flows.pages.table import snippet
from operators.metrics.lifespans import Lifespan, blocks

_WIDTH, _TOP, _BELOW, _LEFT = 640.0, 8.0, 24.0, 8.0
# Space for the words of the last text, to the right of their bars.
_WORDS = 130.0
# Maximum height of a token, and of all of them.
_MAX_TOKEN_HEIGHT, _MAX_HEIGHT = 16.0, 640.0
# Minimum height of a token for words to be written; and the approximate width of a letter.
_MIN_LEGIBLE_HEIGHT, _LETTER_WIDTH = 10.5, 6.4
# Maximum characters of a word.
_MAX_WORD = 20


class Frame(NamedTuple):
    """The common scales of the pictures of one segment, so that two runs can be compared."""

    #: Begin and end of the picture, on the stream's clock or in updates; and the zero of its axis.
    begin: float
    end: float
    origin: float
    #: Number of tokens from top to bottom.
    tokens: int
    #: Whether the clock is the stream's.
    is_timed: bool
    has_words: bool

    @property
    def height(self) -> float:
        """The height of a token."""
        return min(_MAX_TOKEN_HEIGHT, _MAX_HEIGHT / self.tokens)

    @property
    def across(self) -> Scale:
        """The horizontal scale, for time."""
        return Scale(self.begin, self.end, _LEFT, _WIDTH - (_WORDS if self.has_words else _LEFT))

    @property
    def down(self) -> Scale:
        """The vertical scale, for tokens."""
        return Scale(0, self.tokens, _TOP, _TOP + self.height * self.tokens)


def frame(details: Sequence[Detail]) -> Frame:
    """The frame of one segment's pictures, one for each run."""
    moments = [moment for detail in details for moment in detail.moments]
    tokens = max([1, *(max(moment.shown.length, moment.raw.length) for moment in moments)])
    has_words = tokens * _MIN_LEGIBLE_HEIGHT <= _MAX_HEIGHT and all(
        moment.tokens is not None for moment in moments
    )
    times = [moment.at_s for moment in moments if moment.at_s is not None]
    if len(times) < len(moments) or not times:
        updates = max(len(detail.moments) for detail in details)
        return Frame(0.0, updates, 0.0, tokens, is_timed=False, has_words=has_words)
    origin = min(detail.start_s for detail in details if detail.start_s is not None)
    is_whole = all(detail.updates == len(detail.moments) for detail in details)
    begin = min([*times, *([origin] if is_whole else [])])
    end = max([*times, *(detail.end_s or 0.0 for detail in details)])
    # Some space after the last update, so that its new tokens are visible.
    return Frame(
        begin, end + 0.06 * ((end - begin) or 1.0), origin, tokens, is_timed=True, has_words=has_words
    )


def roll(detail: Detail, within: Frame, name: str) -> Markup:
    """The picture of one segment of one run."""
    moments = list(detail.moments)
    across, down = within.across, within.down
    at = [place_of(moment, number, within) for number, moment in enumerate(moments)]
    parts = [*_axis(within), *_withheld(moments, at, within)]
    parts += [_bar(block, moments, at, within) for block in blocks([one.shown for one in moments])]
    if within.is_timed and detail.end_s is not None:
        x = across.at(detail.end_s)
        parts.append(line(x, _TOP, x, down.end + 4, class_="speech"))
    if within.has_words:
        parts += [
            _word(token, across.end + 6, place, within)
            for place, token in enumerate(moments[-1].tokens or [])
        ]
    parts.append(line(0, _TOP, 0, down.end + 4, class_="now"))
    erased = sum(moment.shown.erased for moment in moments)
    label = (
        f"{name}, segment {detail.segment}: {len(moments)} updates, {erased} shown tokens erased, "
        f"{moments[-1].shown.length} at the end"
    )
    return drawing(_WIDTH, down.end + _BELOW, parts, label, "plot roll")


def place_of(moment: Moment, number: int, within: Frame) -> float:
    """The position of an update on the clock of its picture."""
    return moment.at_s if within.is_timed and moment.at_s is not None else float(number)


def _bar(block: Lifespan, moments: Sequence[Moment], at: Sequence[float], within: Frame) -> Markup:
    across, down = within.across, within.down
    left = across.at(at[block.born])
    right = across.end if block.died is None else across.at(at[block.died])
    top, bottom = down.at(block.first), down.at(block.end)
    kind = "settled" if block.died is None else "erased"
    parts = [rect(left, top + 0.75, max(1.5, right - left - 0.75), bottom - top - 1.5, rx=2, class_=kind)]
    if block.died is not None:
        # Marks the erasure that a viewer sees: by form, and not by colour alone.
        parts.append(rect(max(left, right - 3.25), top + 0.75, 2.5, bottom - top - 1.5, class_="cut"))
    tokens = moments[block.born].tokens
    if within.has_words and tokens is not None and block.died is not None:
        room = int((right - left - 10) / _LETTER_WIDTH)
        parts += [
            _word(tokens[place], left + 4, place, within, room)
            for place in range(block.first, min(block.end, len(tokens)))
            if room > 1
        ]
    tip = _bar_words(block, moments, at, within)
    return tag("g", Markup("").join(parts), class_="mark", data_tip=tip)


def _word(token: str, x: float, place: int, within: Frame, room: int = _MAX_WORD) -> Markup:
    return text(x, within.down.at(place + 0.5) + 4, snippet(token, min(room, _MAX_WORD)), class_="word")


def _bar_words(block: Lifespan, moments: Sequence[Moment], at: Sequence[float], within: Frame) -> str:
    tokens = moments[block.born].tokens
    count = block.end - block.first
    what = f"{count} token{'' if count == 1 else 's'}"
    if tokens is not None:
        what = f"“{snippet(''.join(tokens[block.first : block.end]))}”"

    def when(update: int) -> str:
        return (
            f"+{at[update] - within.origin:.1f} s"
            if within.is_timed
            else f"update {moments[update].revision}"
        )

    if block.died is None:
        return f"{what} came at {when(block.born)} and stayed"
    lasted = f" after {at[block.died] - at[block.born]:.1f} s" if within.is_timed else ""
    return f"{what} came at {when(block.born)}, erased at {when(block.died)}{lasted}"


def _withheld(moments: Sequence[Moment], at: Sequence[float], within: Frame) -> list[Markup]:
    """The text that the model had, but that was withheld from the viewer."""
    across, down = within.across, within.down
    parts = []
    for number, moment in enumerate(moments):
        if moment.raw.length > moment.shown.length:
            left = across.at(at[number])
            right = across.at(at[number + 1]) if number + 1 < len(at) else across.end
            top, bottom = down.at(moment.shown.length), down.at(moment.raw.length)
            parts.append(rect(left, top, right - left, bottom - top, class_="withheld"))
    return parts


def _axis(within: Frame) -> list[Markup]:
    across, bottom = within.across, within.down.end
    parts = []
    for value in ticks(across.low - within.origin, across.high - within.origin, 7, whole=not within.is_timed):
        x = across.at(value + within.origin)
        name = f"+{value:g} s" if within.is_timed else f"{value:g}"
        parts.append(line(x, _TOP, x, bottom + 4, class_="grid"))
        parts.append(text(x, bottom + 18, name, text_anchor="middle" if x > 20 else "start"))
    return parts
