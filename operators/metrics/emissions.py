"""Captions as emissions of a continuous stream: tokens added to its end and removed from it.

Segments follow one another in the order of speech. To change one in the middle, all tokens after it are
removed and added again.
"""

from bisect import bisect_left
from typing import NamedTuple

from operators.events import Caption
from operators.metrics.tokenizers import Tokenizer
from operators.prefix import common_prefix


class Emission(NamedTuple):
    """What one caption did to its stream: removed ``deleted`` from the end, then added ``generated``."""

    #: Seconds of the stream that the caption covers.
    heard_s: float
    #: Seconds from there until it was shown, or ready to be shown.
    behind_s: float
    generated: tuple[str, ...]
    deleted: tuple[str, ...]


class EmissionMeter:
    """Turns the captions of one stream, in order, into emissions.

    Args:
        tokenize: Splits what a caption shows.
    """

    def __init__(self, tokenize: Tokenizer) -> None:
        self._tokenize = tokenize
        self._segments: list[int] = []
        self._tokens: list[tuple[str, ...]] = []

    def emit(self, caption: Caption) -> Emission:
        """The emission of one caption, empty if the shown text did not change."""
        seen_s = caption.ready_s if caption.shown_s is None else caption.shown_s
        place = bisect_left(self._segments, caption.segment)
        if self._segments[place : place + 1] != [caption.segment]:
            self._segments.insert(place, caption.segment)
            self._tokens.insert(place, ())
        before = self._from(place)
        self._tokens[place] = self._tokenize(caption.shown)
        after = self._from(place)
        kept = common_prefix(before, after)
        return Emission(caption.end_s, max(0.0, seen_s - caption.end_s), after[kept:], before[kept:])

    def _from(self, place: int) -> tuple[str, ...]:
        return tuple(token for tokens in self._tokens[place:] for token in tokens)
