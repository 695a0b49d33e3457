"""Which draft tokens have been accepted often enough to be trusted without another check.

A token is committed if it was the model's own best choice by a clear margin in several passes, and all tokens
before it are committed. It stays in the forward pass but requests no logits. It is checked again when the
source changes at or before the place that it translates, which is estimated as proportional to its own.
"""

from collections.abc import Sequence

import msgspec

from operators.text import common_prefix


class CommitRule(msgspec.Struct, frozen=True):
    """When a token is committed."""

    #: Passes in which a token must have been accepted by a clear margin; 0 commits nothing.
    passes: int = 0
    #: Smallest logit gap to the next best token that counts as clear.
    gap: float = 2.0

    @property
    def is_on(self) -> bool:
        """Whether anything is ever committed."""
        return self.passes > 0

    def committed(self, clear_passes: Sequence[int], before: Sequence[int], source: Sequence[int]) -> int:
        """Number of committed tokens at the beginning of the draft.

        ``clear_passes`` counts for each draft token the passes that accepted it clearly; ``before`` and
        ``source`` are the token ids of the source that the draft was made from and of the present one.
        """
        if not self.is_on or not before:
            return 0
        count = next(
            (place for place, passes in enumerate(clear_passes) if passes < self.passes), len(clear_passes)
        )
        return min(count, len(clear_passes) * common_prefix(before, source) // len(before))

    def count(
        self, clear_passes: Sequence[int], committed: int, gaps: Sequence[float], length: int
    ) -> tuple[int, ...]:
        """The counts for an output of ``length`` tokens, the first ``len(gaps)`` of which were accepted."""
        counts = list(clear_passes[:committed])
        for place in range(committed, len(gaps)):
            before = clear_passes[place] if place < len(clear_passes) else 0
            counts.append(before + 1 if gaps[place] >= self.gap else 0)
        return tuple(counts + [0] * (length - len(counts)))
