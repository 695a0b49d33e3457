"""Which tokens of the draft stay in the cache as they were computed, although the source has grown.

The source stands before the output in the prompt. So what the model computed for a token of the output, its
keys and values, belongs to the source as it was then. Evaluating it again at each update costs as much as the
output is long; keeping it costs what is new.
"""

import msgspec


class KeepRule(msgspec.Struct, frozen=True):
    """How many tokens are kept, of those that are committed."""

    #: Number of tokens that the source may grow by before the whole output is evaluated again; 0 keeps none.
    growth: int = 0
    #: Committed tokens at the end that are evaluated at each update.
    tail: int = 0
    #: Whether the last update of a segment keeps any.
    in_finals: bool = True

    def kept(self, committed: int, growth: int, *, is_final: bool) -> int:
        """Number of kept tokens at the beginning of the draft.

        The first ``committed`` ones are committed, and the source has grown by ``growth`` tokens since the
        whole output was evaluated.
        """
        if growth > self.growth or not (self.in_finals or not is_final):
            return 0
        return max(0, committed - self.tail)
