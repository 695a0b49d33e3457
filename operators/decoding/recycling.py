"""Draft recycling (SpecASR, Wei et al. 2025, section IV-B), applied to the last output.

The part of the old output that follows the new one is the next draft, as far as it is probable enough and
worth its pass. If there is none, the draft is what followed the same words elsewhere.
"""

from collections.abc import Sequence

from operators.decoding.acceptance import EXACT, Acceptance
from operators.decoding.drafts import Draft, Drafting, FirstOf, Verified, at_once
from operators.decoding.forward import Origin, Task
from operators.decoding.pass_cost import BlockLength
from operators.decoding.tail import Continuation, Tail

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


def recycling(task: Task, length: BlockLength, acceptance: Acceptance = EXACT) -> FirstOf:
    """The rejected tail of the last output, with tokens accepted by ``acceptance``, before n-grams."""
    return FirstOf(RecycledTail(task, length, acceptance), NGrams(task, length))


class RecycledTail:
    """Drafts the rest of the last output, where the new one meets it again."""

    def __init__(self, task: Task, length: BlockLength, acceptance: Acceptance) -> None:
        self._tail = Tail(task.draft)
        self._length = length
        self._acceptance = acceptance

    def learn(self, verified: Verified) -> None:
        """Correct the tail by the result of a pass."""
        self._tail.learn(verified)

    def draft(self, output: Sequence[int]) -> Drafting:
        """The rest of the old output, as far as it is worth the pass."""
        tokens = _worth(self._tail.after(output), self._length)
        draft = Draft(tuple(tokens), Origin.RECYCLED, self._acceptance)
        return at_once(draft if tokens else None)


class NGrams:
    """Drafts what followed the same words in the source, the last output or recent outputs."""

    def __init__(self, task: Task, length: BlockLength) -> None:
        self._lookup = Lookup([*task.recent, task.source, task.draft])
        self._length = length

    def learn(self, verified: Verified) -> None:
        """Nothing is remembered."""

    def draft(self, output: Sequence[int]) -> Drafting:
        """What followed, as far as it is worth the pass.

        It comes from elsewhere and gets no bias: it changes no output, and forgetting it changes nothing.
        """
        tokens = _worth(self._lookup.after(output), self._length)
        return at_once(Draft(tuple(tokens), Origin.LOOKED_UP) if tokens else None)


def _worth(continuation: Continuation, length: BlockLength) -> Sequence[int]:
    return continuation.tokens[: length.of(continuation.sure)]
