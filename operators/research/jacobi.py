"""Parallel decoding by fixed-point iteration (Santilli et al. 2023, section 3.2): PJ, PGJ and HGJ.

Greedy decoding is the solution of m equations, y_i = argmax p(y | y_1..y_i-1, x). A pass computes all right
sides of a block for the current guesses, and its choices are the next guesses (a Jacobi iteration). The next
block begins where one is solved (Gauss-Seidel). Guesses that equal the choices, and the first choice after
them, are the tokens of greedy decoding, because their prefix is. So each iteration solves at least one more
equation, and m tokens take at most m iterations, whatever the first guesses were (proposition 1).

The authors stop a block when two iterations are equal. Here a token counts as soon as all tokens before it
are confirmed, so no pass only confirms a block, and solved tokens are not evaluated again.
"""

from collections.abc import Container, Sequence

from msgspec.structs import replace
from typing_extensions import override

from operators.decoding.acceptance import EXACT, Acceptance
from operators.decoding.drafts import Draft, Drafting, Verified, at_once
from operators.decoding.forward import Logits, Origin, Task
from operators.decoding.recycling import Tail


class Guesses(Draft, frozen=True):
    """A draft that is iterated: it may contain stop tokens and padding, which no bias accepts."""

    stop: Container[int] = ()
    #: Number of tokens that the model has chosen, now or in an earlier output; the others fill the block.
    chosen: int = 0

    @override
    def within(self, room: int, stop: Container[int]) -> "Guesses":
        """At most ``room`` tokens; a stop token does not cut them, because a later iteration may move it."""
        return replace(self, tokens=self.tokens[:room], stop=stop)

    @override
    def verified(self, begin: int, rows: Logits) -> Verified:
        """No guess ends the output, only the model's own choice in its place (the paper's CHECKEOS)."""
        verdict = super().verified(begin, rows)
        for node in verdict.path:
            token = self.tokens[node]
            if token in self.stop or (node >= self.chosen and token != verdict.choices[node]):
                return verdict._replace(path=range(node))
        return verdict


class Jacobi:
    """Guesses for a block of the output at a time, corrected by each pass.

    Parallel Jacobi (PJ, algorithm 1) has one block of m tokens. Parallel GS-Jacobi (PGJ, algorithm 2) has
    blocks of b tokens one after the other. Hybrid GS-Jacobi (HGJ, algorithm 3) has such blocks up to h
    tokens, and then decodes one token per pass. A block of n tokens has a pass of n rows: the last known
    token, and n - 1 guesses.
    """

    def __init__(
        self,
        task: Task,
        acceptance: Acceptance = EXACT,
        *,
        block: int | None = None,
        horizon: int | None = None,
        starts_with_draft: bool = False,
    ) -> None:
        """Iterate from padding, as in the paper, or from the last output.

        Args:
            task: The output to decode; after a draft, blocks begin at its first rejected token.
            acceptance: The rule for guesses; if exact, the output is that of greedy decoding.
            block: The paper's b in tokens; None for one block up to the horizon (PJ).
            horizon: The paper's m or h: tokens of the output that are decoded in parallel. By default its
                maximum length.
            starts_with_draft: Whether the first guesses (the paper's INIT) are not the model's padding but
                the rest of the last output, and then the source, because names may be kept.

        Raises:
            ValueError: a length is less than 1.
        """
        self._horizon = task.limit if horizon is None else horizon
        self._block = self._horizon if block is None else block
        if min(self._horizon, self._block) < 1:
            raise ValueError(f"a block of {self._block} tokens, {self._horizon} in all, is not possible")
        self._acceptance = acceptance
        self._pad = task.pad
        self._tail = Tail(task.draft) if starts_with_draft else None
        self._filling = task.source if starts_with_draft else ()
        self._guesses: list[int] = []
        # Where the current block ends, in tokens of the output.
        self._end = 0

    def learn(self, verified: Verified) -> None:
        """Take the model's choices after the first wrong guess, and the choice there, as the next guesses."""
        if self._tail is not None:
            self._tail.learn(verified)
        if verified.draft.origin is Origin.PARALLEL:
            self._guesses = verified.choices[verified.accepted_length + 1 :]

    def draft(self, output: Sequence[int]) -> Drafting:
        """Guesses for the rest of the block, or for the next one; None beyond the horizon."""
        place = len(output)
        if place >= self._horizon:
            return at_once(None)
        if place >= self._end:
            self._end = min(place + self._block, self._horizon)
            self._guesses = []
        follows = () if self._tail is None else self._tail.after(output).tokens
        guesses = [*self._guesses, *follows[len(self._guesses) :]]
        # The row after the last guess decides the last token of the block.
        count = self._end - place - 1
        filling = [*self._filling[place + len(guesses) :], *[self._pad] * count]
        tokens = tuple([*guesses, *filling][:count])
        return at_once(Guesses(tokens, Origin.PARALLEL, self._acceptance, chosen=len(guesses)))
