"""Draft recycling (SpecASR, Wei et al. 2025, section IV-B), applied to the last translation.

What the old output has to follow the new one with is proposed as the next block, as far as it is sure enough
and worth its pass. Where it has nothing, what followed the same words elsewhere may do.
"""

from collections.abc import Sequence

from operators.decoding.forward import Origin, Task
from operators.decoding.lookup import Lookup
from operators.decoding.pass_cost import BlockLength
from operators.decoding.proposals import Proposal
from operators.decoding.tail import Continuation, Tail
from operators.decoding.verify import Verified


class Recycling:
    """Proposes the rejected tail of the draft, and n-grams where it offers none."""

    def __init__(self, task: Task, length: BlockLength) -> None:
        self._tail = Tail(task.draft)
        self._lookup = Lookup([*task.recent, task.source, task.draft])
        self._length = length
        self._origin: Origin | None = None

    def learn(self, verified: Verified) -> None:
        """See what a pass said; the first one is that of the draft."""
        if self._origin is None:
            self._tail.learn_draft(verified)
        elif self._origin is Origin.RECYCLED:
            self._tail.learn(verified)
        else:
            self._tail.skip(verified.stood)

    def propose(self, output: Sequence[int]) -> Proposal:
        """The rest of the old output, else an n-gram, else nothing."""
        self._origin = Origin.RECYCLED
        tokens = self._worth(self._tail.after(output))
        if not tokens:
            self._origin = Origin.LOOKED_UP
            tokens = self._worth(self._lookup.after(output))
        return Proposal(tokens, self._origin)

    def _worth(self, continuation: Continuation) -> Sequence[int]:
        return continuation.tokens[: self._length.of(continuation.sure)]
