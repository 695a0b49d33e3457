"""Draft recycling (SpecASR, Wei et al. 2025, section IV-B), applied to the last output.

The part of the old output that follows the new one is the next draft, as far as it is probable enough and
worth its pass. If there is none, the draft is what followed the same words elsewhere.
"""

from collections.abc import Sequence

from operators.decoding.acceptance import EXACT, Acceptance
from operators.decoding.drafter import Drafting, FirstOf, at_once
from operators.decoding.drafts import Draft, Verified
from operators.decoding.forward import Origin, Task
from operators.decoding.lookup import Lookup
from operators.decoding.pass_cost import BlockLength
from operators.decoding.tail import Continuation, Tail


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
