"""Draft recycling (SpecASR, Wei et al. 2025, section IV-B), applied to the last output.

The part of the old output that follows the new one is the next draft, as far as it is probable enough and
worth its pass. If there is none, the draft is a continuation of the same words elsewhere (n-grams).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from operators.decoding.acceptance import EXACT, Acceptance
from operators.decoding.drafts import Draft, Drafting, FirstOf, Verified, at_once
from operators.decoding.forward import Origin, Task
from operators.decoding.pass_cost import BlockLength

#: Maximum distance from the expected place at which a new token may match the tail.
REACH = 6
#: Maximum number of tokens compared to choose among matches.
LOOK_BACK = 4
#: Factor for the probability of a tail's first token if the output's last token matches no old one, and is
#: therefore assumed to replace one. In a revised stream 13 % of 71 such tokens were accepted, and 42 % of 31
#: tokens after a match; both are about as this predicts.
UNMET = 0.35
#: Factor for the doubt about a token once the one before it is accepted: 85 % of those were accepted, while
#: the pass that scored them after a rejected token gave them 47 %.
DOUBT = 0.3
#: The probability assumed for tail tokens that no pass has scored.
UNSEEN = 0.5


class Continuation(NamedTuple):
    """Tokens that may follow, and the probability of each if those before it are accepted."""

    tokens: Sequence[int] = ()
    sure: Sequence[float] = ()


class Tail:
    """The old output, aligned with the growing new one.

    After a divergence SpecASR compares new tokens with the rejected sequence at the same and nearby
    positions, and reuses its continuation after a match. Here the sequence is the old translation, and the
    pass that rejected it has already given the model's choice at each later place. This corrects the tail for
    free: it is the first iteration of a parallel decoding (Santilli et al. 2023) that starts with the tail.
    """

    def __init__(self, draft: Sequence[int]) -> None:
        self._draft = tuple(draft)
        self._tokens = list(draft)
        self._sure = [UNSEEN] * len(draft)
        # The place in the draft of the first token of the next block to verify.
        self._base = 0

    def learn(self, verified: Verified) -> None:
        """Correct the tail from a pass over the old output, the tokens of the last `after`, or others.

        If none of the tokens of `after` was accepted, the output does not match the old one there, and the
        rest of the result is ignored.
        """
        origin = verified.draft.origin
        if origin is Origin.DRAFT:
            self._base = verified.begin
        if origin is Origin.DRAFT or (
            origin in (Origin.RECYCLED, Origin.PARALLEL) and verified.accepted_length
        ):
            for number in range(
                verified.accepted_length + 1, min(len(verified.draft.tokens), len(verified.rows))
            ):
                place = self._base + number
                if place < len(self._tokens):
                    self._correct(place, verified, number)
        # The accepted tokens were added, and the model's own token after them.
        self._base += verified.accepted_length + 1

    def after(self, output: Sequence[int]) -> Continuation:
        """The part of the old output that follows ``output``; empty if it has ended."""
        met, self._base = self._align(output)
        sure = self._sure[self._base :]
        first = [sure[0] if met else UNMET * sure[0]] if sure else []
        return Continuation(
            self._tokens[self._base :], [*first, *(1 - DOUBT * (1 - each) for each in sure[1:])]
        )

    def _align(self, output: Sequence[int]) -> tuple[int, int]:
        """The number of tokens at the end of ``output`` that match the draft, and the place after them."""
        expected = self._base - 1
        best = (0, 0, self._base)
        for place in range(max(0, expected - REACH), min(len(self._draft), expected + REACH + 1)):
            met = _match_length(self._draft, place, output)
            # The longest match; among equal ones the nearest, and among these the later.
            best = max(best, (met, -abs(place - expected), place + 1)) if met else best
        return best[0], best[2]

    def _correct(self, place: int, verified: Verified, number: int) -> None:
        row, choice, old = verified.rows[number], verified.choices[number], self._tokens[place]
        token = old if choice == old or verified.draft.acceptance.accepts(row, choice, old) else choice
        self._tokens[place] = token
        self._sure[place] = float(np.exp(row[token] - row[choice]) / np.exp(row - row[choice]).sum())


def _match_length(draft: Sequence[int], place: int, output: Sequence[int]) -> int:
    """How many tokens of the draft up to and including ``place`` equal the last ones of ``output``."""
    count = 0
    while count < min(LOOK_BACK, place + 1, len(output)) and draft[place - count] == output[-1 - count]:
        count += 1
    return count


#: Maximum and minimum number of tokens that must match; a single one is no evidence.
MAX_NGRAM, MIN_NGRAM = 4, 2
#: Number of tokens that are proposed.
LENGTH = 8
#: The probability assumed for the first token after this many matches, from `MIN_NGRAM` on, and for those
#: after it. On a revised stream 45 % and 80 % were accepted.
SURE, THEN = (0.4, 0.5, 0.6), 0.8


def recycling(task: Task, length: BlockLength, acceptance: Acceptance = EXACT) -> FirstOf:
    """The rejected tail of the last output, with tokens accepted by ``acceptance``, before n-grams."""
    return FirstOf(RecycledTail(task, length, acceptance), NGrams(task, length))


class RecycledTail(Tail):
    def __init__(self, task: Task, length: BlockLength, acceptance: Acceptance) -> None:
        super().__init__(task.draft)
        self._length = length
        self._acceptance = acceptance

    def draft(self, output: Sequence[int]) -> Drafting:
        following = self.after(output)
        tokens = following.tokens[: self._length.of(following.sure)]
        draft = Draft(tuple(tokens), Origin.RECYCLED, self._acceptance)
        return at_once(draft if tokens else None)


class NGrams:
    """Drafts what followed the same tokens in the source or earlier outputs; the latest match counts."""

    def __init__(self, task: Task, length: BlockLength) -> None:
        self._length = length
        # The tokens after each n-gram.
        self._following: dict[tuple[int, ...], Sequence[int]] = {}
        for text in map(tuple, [*task.recent, task.source, task.draft]):
            for size in range(MIN_NGRAM, MAX_NGRAM + 1):
                for end in range(size, len(text)):
                    self._following[text[end - size : end]] = text[end : end + LENGTH]

    def learn(self, verified: Verified) -> None:
        """Does nothing."""

    def draft(self, output: Sequence[int]) -> Drafting:
        """The tokens that followed the longest known end of ``output``, as far as they are worth the pass.

        They are not a draft of this output and get no bias, so they never change the output.
        """
        for size in range(min(MAX_NGRAM, len(output)), MIN_NGRAM - 1, -1):
            tokens = self._following.get(tuple(output[-size:]))
            if tokens is not None:
                sure = [SURE[size - MIN_NGRAM], *[THEN] * (len(tokens) - 1)]
                tokens = tokens[: self._length.of(sure)]
                return at_once(Draft(tuple(tokens), Origin.LOOKED_UP) if tokens else None)
        return at_once(None)
