"""Which draft tokens have been accepted often enough to be trusted without another check.

A token is committed if it was accepted in several passes, and all tokens before it are committed. It stays in
the forward pass but requests no logits. It is checked again when the source changes at or before the place
that it translates, which is estimated as proportional to its own.
"""

from collections.abc import Sequence

import msgspec

from operators.text import common_prefix


class CommitRule(msgspec.Struct, frozen=True):
    #: Passes in which a token must have been accepted; 0 commits nothing.
    passes: int = 0

    def committed(self, accepted: Sequence[int], before: Sequence[int], source: Sequence[int]) -> int:
        """Number of committed tokens at the beginning of the draft.

        ``accepted`` counts for each draft token the passes that accepted it; ``before`` and ``source`` are
        the token ids of the source that the draft was made from and of the present one.
        """
        if not self.passes or not before:
            return 0
        count = next((place for place, passes in enumerate(accepted) if passes < self.passes), len(accepted))
        return min(count, len(accepted) * common_prefix(before, source) // len(before))


def count_passes(before: Sequence[int], committed: int, accepted: int, length: int) -> tuple[int, ...]:
    """The counts for an output of ``length`` tokens, of which ``accepted`` were, after those of its draft."""
    checked = [passes + 1 for passes in before[committed:accepted]]
    counts = [*before[:committed], *checked]
    return (*counts, *[1] * (accepted - len(counts)), *[0] * (length - accepted))
