"""Segments that outlive connections, however often the service starts again.

After a lost connection the service hears the audio since the last final again. The open segment continues
under its number once the new connection has come as far as the old one; until then a better text is already
on display.
"""

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from operators.recognizers.protocol import Hypothesis


class ServiceUtterance(NamedTuple):
    """A service's hypothesis for an utterance; positions are samples of the stream, begin ≤ end."""

    text: str
    begin: int
    end: int
    is_final: bool


class _Open(msgspec.Struct):
    segment: int
    text: str
    begin: int
    end: int
    start_s: float
    end_s: float
    #: Whether it comes from a lost connection, and the current one has not come as far yet.
    is_replayed: bool = False


class Utterances:
    """Numbers one stream's utterances and delivers each of them once.

    Args:
        start_s: When the sample at a position sounded, on the stream's clock.
        end_s: When the sample before a position ended.
    """

    def __init__(self, start_s: Callable[[int], float], end_s: Callable[[int], float]) -> None:
        self._start_s = start_s
        self._end_s = end_s
        self._next = 0
        self._open: _Open | None = None
        #: Everything before this position has its final, or contains no speech.
        self.confirmed = 0

    def resume(self, oldest: int) -> list[Hypothesis]:
        """Further results come from a new connection, which hears again from `confirmed` on.

        Args:
            oldest: Position of the oldest audio left. A segment whose beginning is gone ends.
        """
        if self._open is not None and self._open.begin < oldest:
            return self.finish()
        if self._open is not None:
            self._open.is_replayed = True
        return []

    def take(self, said: ServiceUtterance) -> list[Hypothesis]:
        """The hypotheses from a result of the service."""
        said = said._replace(text=said.text.strip())
        # A second final for the same speech, or an empty result.
        if (said.text and said.end <= self.confirmed) or not (said.text or said.is_final):
            return []
        hypotheses: list[Hypothesis] = []
        if self._open is not None and self._is_later(said, self._open):
            hypotheses += self.finish()
        if self._open is None:
            if said.text:
                self._begin(said)
        elif self._is_behind(said, self._open):
            return []
        if self._open is not None:
            hypotheses.append(self._revise(self._open, said))
        if said.is_final:
            self._open = None
            self.confirmed = max(self.confirmed, said.end)
        return hypotheses

    def finish(self) -> list[Hypothesis]:
        """The final of the open segment, with its last text."""
        if self._open is None:
            return []
        last, self._open = self._open, None
        self.confirmed = max(self.confirmed, last.end)
        return [_hypothesis(last, is_final=True)]

    @staticmethod
    def _is_later(said: ServiceUtterance, last: _Open) -> bool:
        """Whether it is another utterance, although the open one has no final yet."""
        return bool(said.text) and said.begin >= last.end and said.begin > last.begin

    @staticmethod
    def _is_behind(said: ServiceUtterance, last: _Open) -> bool:
        """Whether a new connection has not yet come as far as the old one."""
        if not last.is_replayed:
            return False
        return said.end <= last.begin and not said.text if said.is_final else said.end < last.end

    def _begin(self, said: ServiceUtterance) -> None:
        start_s = self._start_s(said.begin)
        self._open = _Open(self._next, "", said.begin, said.begin, start_s, start_s)
        self._next += 1

    def _revise(self, last: _Open, said: ServiceUtterance) -> Hypothesis:
        # A final without text ends the segment with its last text: `PartialNumbering` ensures that.
        last.text = said.text
        last.end = max(said.end, last.begin)
        last.end_s = max(last.start_s, self._end_s(last.end))
        last.is_replayed = False
        return _hypothesis(last, is_final=said.is_final)


def _hypothesis(last: _Open, *, is_final: bool) -> Hypothesis:
    return Hypothesis(
        segment=last.segment, text=last.text, is_final=is_final, start_s=last.start_s, end_s=last.end_s
    )
