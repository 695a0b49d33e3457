"""The number of proposed tokens that is worth a pass: its cost on this machine against its expected gain."""

from collections.abc import Sequence
from itertools import accumulate
from operator import mul

import msgspec
import numpy as np


class PassCosts(msgspec.Struct, frozen=True):
    """Milliseconds of a pass by the number of tokens that it verifies, measured at some sizes."""

    tokens: tuple[int, ...]
    ms: tuple[float, ...]
    #: Whether the machine was quiet enough to measure.
    is_steady: bool = True

    def of(self, tokens: int) -> float:
        """Milliseconds of a pass over so many tokens, inter- or extrapolated from two measured sizes."""
        if tokens > self.tokens[-1] and len(self.tokens) > 1:
            (a, b), (x, y) = self.tokens[-2:], self.ms[-2:]
            return y + (y - x) / (b - a) * (tokens - b)
        return float(np.interp(tokens, self.tokens, self.ms))


#: A machine on which the cost of a pass does not depend on its tokens; GPUs come close.
FLAT = PassCosts((1,), (1.0,))


class BlockLength(msgspec.Struct, frozen=True):
    costs: PassCosts = FLAT
    #: A proposal ends before the first less probable token (SpecASR, section IV-A: 0.4).
    threshold: float = 0.4
    #: Maximum number of tokens in a proposal.
    longest: int = 32

    def of(self, sure: Sequence[float]) -> int:
        """How many tokens are worth proposing; ``sure`` is the probability of each, given those before it.

        This is the length with the most expected tokens per millisecond, including the model's own next
        token; 0 if no length is better than a pass over that token alone.
        """
        end = next((n for n, each in enumerate(sure) if each < self.threshold), len(sure))
        expected = accumulate(accumulate(sure[: min(end, self.longest)], mul), initial=1.0)
        rates = [tokens / self.costs.of(1 + length) for length, tokens in enumerate(expected)]
        return max(range(len(rates)), key=rates.__getitem__)
