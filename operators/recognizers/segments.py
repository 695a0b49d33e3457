"""Segments of an engine that detects their ends and the times of words, split where the voice changes."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from operators.recognizers.protocol import Change, Hypothesis, Span

# Seconds of sound between two searches for another voice in a segment.
_LOOK_S = 0.4
_NEVER = float("-inf")


class Word(NamedTuple):
    """A word on the stream's clock."""

    #: Includes the space before the word, if any.
    text: str
    begin_s: float
    end_s: float

    @property
    def middle_s(self) -> float:
        return (self.begin_s + self.end_s) / 2


class Segments:
    """Hypotheses from the words that an engine recognises in one stream.

    If another voice begins in a segment of the engine, the words before it become a final, and those after it
    the next segment. The engine continues its own segment, still returns all words, and may revise words that
    are already in a final; these revisions are not shown.

    Args:
        interval_s: Minimum seconds of sound between two partials of a segment.
        written: Returns the text as it is shown; the second argument is whether it is a final.
    """

    def __init__(
        self, interval_s: float = 0.0, written: Callable[[str, bool], str] = lambda text, _is_final: text
    ) -> None:
        self._interval_s = interval_s
        self._written = written
        #: Finds another voice in an open segment; None if segments are not split.
        self.change: Change | None = None
        self._segment = 0
        #: The open segment's last hypothesis, and its unformatted text.
        self._open: Hypothesis | None = None
        self._raw = ""
        #: Words of the engine's segment before this moment are in a final.
        self._cut_s = _NEVER
        #: The end of the sound at the last search for another voice, and where one begins.
        self._looked_s = _NEVER
        self._span: Span | None = None

    def update(self, words: Sequence[Word], heard_s: float, *, is_over: bool) -> list[Hypothesis]:
        """New hypotheses from the current words.

        Args:
            words: All words of the engine's segment so far, in order.
            heard_s: End of the sound that the engine has processed.
            is_over: Whether the engine ends its segment.
        """
        words = [word for word in words if word.middle_s > self._cut_s]
        said = []
        if cut := self._cut(words, heard_s, is_over=is_over):
            before, words = words[:cut], words[cut:]
            self._cut_s, self._span = (before[-1].middle_s + words[0].middle_s) / 2, None
            said += self._said(before, min(before[-1].end_s, heard_s), is_final=True)
        end_s = heard_s
        if is_over:
            # The last word may end before the processed sound.
            ends = [*(word.end_s for word in words[-1:]), *([self._open.end_s] if self._open else [])]
            end_s = min(heard_s, max(ends, default=heard_s))
        said += self._said(words, end_s, is_final=is_over)
        if is_over:
            self._cut_s, self._span = _NEVER, None
        return said

    def _cut(self, words: Sequence[Word], heard_s: float, *, is_over: bool) -> int:
        """The number of words before another voice; 0 if there is none, or if its words may still come."""
        if self.change is None or self._open is None:
            return 0
        if abs(heard_s - self._looked_s) >= _LOOK_S:
            self._looked_s = heard_s
            self._span = self.change(self._open.start_s, heard_s)
        span = self._span
        if span is None or not words or words[0].begin_s >= span.end_s:
            return 0
        if words[-1].begin_s <= span.end_s and not (is_over and span.begin_s < words[-1].end_s):
            return 0

        def unlikely(cut: int) -> tuple[float, float, float]:
            begin_s, end_s = words[cut - 1].end_s, words[cut].begin_s
            distance_s = max(0.0, begin_s - span.end_s, span.begin_s - end_s)
            off_s = abs(begin_s + end_s - span.begin_s - span.end_s)
            # Engines report times in hundredths of a second.
            return distance_s, round(begin_s - end_s, 2), off_s

        # Later updates assign words to the sides of the cut by their times.
        cuts = (cut for cut in range(1, len(words)) if words[cut - 1].middle_s < words[cut].middle_s)
        return min(cuts, key=unlikely, default=0)

    def _said(self, words: Sequence[Word], end_s: float, *, is_final: bool) -> list[Hypothesis]:
        """The open segment's hypothesis, if it is new and due."""
        last, raw = self._open, "".join(word.text for word in words).strip()
        if not is_final:
            is_early = last is not None and end_s < last.end_s + self._interval_s - 1e-6
            # An engine may remove its text again, but a hypothesis before the final is never empty.
            if not raw or raw == self._raw or is_early:
                return []
        elif not raw and last is None:
            return []
        # Some engines report a segment's start only at its end.
        start_s = words[0].begin_s if last is None or (is_final and words) else last.start_s
        hypothesis = Hypothesis(
            segment=self._segment,
            text=self._written(raw, is_final),
            is_final=is_final,
            start_s=min(start_s, end_s),
            end_s=end_s,
        )
        self._open, self._raw = (None, "") if is_final else (hypothesis, raw)
        self._segment += is_final
        return [hypothesis]
