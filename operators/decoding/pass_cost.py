"""How many proposals are worth a pass: what it costs on this machine against what it is likely to bring."""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from operator import mul

import msgspec
import numpy as np


class PassCosts(msgspec.Struct, frozen=True):
    """Milliseconds of a pass by the tokens that it verifies, measured at some sizes."""

    tokens: tuple[int, ...]
    ms: tuple[float, ...]
    #: Whether the machine was quiet enough to tell.
    is_steady: bool = True

    def of(self, tokens: int) -> float:
        """Milliseconds of a pass over so many tokens: on the line between, or after, two measured sizes."""
        if tokens > self.tokens[-1] and len(self.tokens) > 1:
            (a, b), (x, y) = self.tokens[-2:], self.ms[-2:]
            return y + (y - x) / (b - a) * (tokens - b)
        return float(np.interp(tokens, self.tokens, self.ms))


def is_measured(costs: PassCosts) -> bool:
    """Whether costs can have been measured: some sizes in their order, each with a time above 0."""
    sizes = costs.tokens
    in_order = all(a < b for a, b in pairwise((0, *sizes)))
    return 0 < len(sizes) == len(costs.ms) and in_order and all(0.0 < one < 1e9 for one in costs.ms)


#: A machine on which a pass costs the same however many tokens it verifies, as GPUs nearly are.
FLAT = PassCosts((1,), (1.0,))


class BlockLength(msgspec.Struct, frozen=True):
    """The rule that says how much of a continuation is proposed."""

    costs: PassCosts = FLAT
    #: A proposal ends before the first token that is less sure (SpecASR, section IV-A: 0.4).
    threshold: float = 0.4
    #: Tokens that a proposal has at most.
    longest: int = 32

    def of(self, sure: Sequence[float]) -> int:
        """Tokens that are worth proposing, each of which stands with probability ``sure`` if those before do.

        The length with the most expected tokens per millisecond, the model's own next token counted: 0 where
        no length is better than a pass over that token alone.
        """
        end = next((n for n, each in enumerate(sure) if each < self.threshold), len(sure))
        expected = accumulate(accumulate(sure[: min(end, self.longest)], mul), initial=1.0)
        rates = [tokens / self.costs.of(1 + length) for length, tokens in enumerate(expected)]
        return max(range(len(rates)), key=rates.__getitem__)
