"""Parallel decoding by fixed-point iteration (Santilli et al. 2023, section 3): Jacobi and Gauss-Seidel.

A block of guesses represents the next tokens. Each pass gives the model's choices at all of their places at
once; these are the next guesses. Guesses that equal the choices, and the first choice after them, are the
tokens of greedy decoding, because their prefix is. So each iteration adds at least one token, and m tokens
take at most m iterations, whatever the first guesses were. The authors start with padding. Here a block
starts with the old translation's tokens at its place.
"""

from collections.abc import Sequence

from operators.decoding.acceptance import EXACT, Acceptance
from operators.decoding.drafts import Draft, Drafting, Verified, at_once
from operators.decoding.forward import Origin, Task
from operators.decoding.recycling import Tail

#: Guesses of a whole output (Parallel Jacobi) if there is no old output to estimate its length.
UNKNOWN_LENGTH = 16


class Jacobi:
    """Parallel Jacobi decoding, or with ``block`` Gauss-Seidel between blocks of that size (PJ and PGJ).

    ``hybrid`` (HGJ) is parallel while there is an old translation to start from, and then decodes one token
    per pass; the authors do so once the length that they expect is exceeded.
    """

    def __init__(
        self, task: Task, block: int | None = None, acceptance: Acceptance = EXACT, *, hybrid: bool = False
    ) -> None:
        if block is not None and block < 1:
            raise ValueError(f"a block of {block} tokens is none")
        self._tail = Tail(task.draft)
        self._block = block
        self._acceptance = acceptance
        self._whole = max(len(task.draft), len(task.source)) or UNKNOWN_LENGTH
        # Guesses are filled up with the source, because names and numbers in it may be kept unchanged.
        self._padding = [] if hybrid else [*task.source, *[task.prompt[-1]] * UNKNOWN_LENGTH]
        self._guesses: list[int] = []
        # Where the current block ends, in tokens of the output.
        self._end = 0

    def learn(self, verified: Verified) -> None:
        """Take the model's choices after the rejected token as the next guesses."""
        self._tail.learn(verified)
        if verified.draft.origin is Origin.PARALLEL:
            self._guesses = verified.choices[verified.accepted_length + 1 :]

    def draft(self, output: Sequence[int]) -> Drafting:
        """Guesses for the rest of the current block, or for the next one; none before the first token."""
        if not output:
            return at_once(None)
        guesses = tuple(self._guess(output))
        return at_once(Draft(guesses, Origin.PARALLEL, self._acceptance))

    def _guess(self, output: Sequence[int]) -> Sequence[int]:
        rest = self._end - len(output)
        follows = self._tail.after(output).tokens
        if rest <= 0:
            rest = self._block or max(self._whole - len(output), UNKNOWN_LENGTH)
            self._end = len(output) + rest
            self._guesses = []
        guesses = [*self._guesses, *follows[len(self._guesses) :]][:rest]
        if len(guesses) < rest:
            place = len(output) + len(guesses)
            guesses += self._padding[place : place + rest - len(guesses)]
        return guesses
