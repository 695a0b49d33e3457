"""The end of the last output, proposed as the end of this one.

A recogniser closes each unfinished window with a full stop, and so does the window after it, a few words
later. To propose the draft's last token after each new word spares the pass in which the model would say it:
the row behind it already says that the output ends there.
"""

from collections.abc import Sequence

from operators.decoding.forward import Origin, Task
from operators.decoding.proposals import Proposal, Proposer
from operators.decoding.verify import Verified


class Closing(Proposer):
    """Proposes the last token of the draft, until the model has said it."""

    def __init__(self, task: Task) -> None:
        self._last = list(task.draft[-1:])

    def learn(self, verified: Verified) -> None:
        """Nothing is remembered."""

    def propose(self, output: Sequence[int]) -> Proposal:
        """The draft's last token, unless the output has just said it."""
        if output[-1:] == self._last:
            return Proposal()
        return Proposal(self._last, Origin.RECYCLED)
