"""Continuations found in known texts: names and terms that occurred before.

The last tokens of the output are looked up in the source, in this segment's last output and in recent
outputs; what followed them there may follow here.
"""

from collections.abc import Sequence

from operators.decoding.tail import Continuation

#: Tokens that must match, at most and at least: a single one says too little.
MAX_NGRAM, MIN_NGRAM = 4, 2
#: Tokens that are proposed.
LENGTH = 8
#: The probability assumed for the first token after this many matches, from `MIN_NGRAM` on, and for those
#: after it. On a revised stream 45 % and 80 % were accepted.
SURE, THEN = (0.4, 0.5, 0.6), 0.8


class Lookup:
    """An index of n-grams over some texts; if an n-gram occurs twice, the later text counts."""

    def __init__(self, texts: Sequence[Sequence[int]]) -> None:
        self._texts = [tuple(text) for text in texts]
        self._places: dict[tuple[int, ...], tuple[int, int]] = {}
        for number, text in enumerate(self._texts):
            for length in range(MIN_NGRAM, MAX_NGRAM + 1):
                for end in range(length, len(text)):
                    self._places[text[end - length : end]] = (number, end)

    def after(self, output: Sequence[int]) -> Continuation:
        """What followed the longest known end of ``output``; empty if none is known."""
        for length in range(min(MAX_NGRAM, len(output)), MIN_NGRAM - 1, -1):
            found = self._places.get(tuple(output[-length:]))
            if found is not None:
                number, end = found
                tokens = self._texts[number][end : end + LENGTH]
                return Continuation(tokens, [SURE[length - MIN_NGRAM], *[THEN] * (len(tokens) - 1)])
        return Continuation()
