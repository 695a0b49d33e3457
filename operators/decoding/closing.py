"""The end of the last output, drafted as the end of this one.

A recogniser ends each unfinished window with a full stop, and does so again a few words later in the next
window. Drafting the last output's last token after each new word saves the pass in which the model would
output it: the row after it already says that the output ends there.
"""

from collections.abc import Sequence

from operators.decoding.drafter import Drafting, at_once
from operators.decoding.drafts import Draft, Verified
from operators.decoding.forward import Origin, Task


class Closing:
    """Drafts the last token of the last output, unless the model has just output it."""

    def __init__(self, task: Task) -> None:
        self._last = tuple(task.draft[-1:])

    def learn(self, verified: Verified) -> None:
        """Nothing is remembered."""

    def draft(self, output: Sequence[int]) -> Drafting:
        """The last token of the last output."""
        is_said = not output or tuple(output[-1:]) == self._last
        return at_once(None if is_said else Draft(self._last, Origin.RECYCLED))
