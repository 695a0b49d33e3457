"""The last output as the draft of the next one: the start of self-speculative biased decoding."""

from collections.abc import Sequence

from operators.decoding.acceptance import Acceptance
from operators.decoding.drafter import Drafting, at_once
from operators.decoding.drafts import Draft, Verified
from operators.decoding.forward import Origin, Task


class LastOutput:
    """Drafts ``task.draft`` up to its first rejected token, and nothing after it."""

    def __init__(self, task: Task, acceptance: Acceptance, block: int | None = None) -> None:
        """With ``block`` the first pass verifies so many tokens, each later one twice as many plus one."""
        self._draft = task.draft[: task.limit]
        self._acceptance = acceptance
        self._block = block
        self._is_over = not self._draft

    def learn(self, verified: Verified) -> None:
        """Continue while all verified tokens were accepted and more are left."""
        if verified.own is not None:
            self._is_over = True
        elif self._block is not None:
            # The last row judges one more than the block: 8, 16, 32 rows in all.
            self._block = 2 * self._block + 1

    def draft(self, output: Sequence[int]) -> Drafting:
        """The rest of it, or the next block."""
        return at_once(None if self._is_over else self._next(len(output)))

    def _next(self, place: int) -> Draft:
        length = len(self._draft)
        end = length if self._block is None else min(length, place + self._block)
        # The last row already judges the first token after the block.
        judged = self._draft[place : end + 1]
        return Draft(tuple(judged), Origin.DRAFT, self._acceptance, left_out=int(end < length))
