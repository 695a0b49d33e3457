"""Finds where an output begins to repeat itself without end, as small models do when they are at a loss.

A greedy decoder that has said the same thing several times in a row goes on saying it until its limit:
a hundred tokens that nobody wants to read, each as costly as any other.
"""

from collections.abc import Sequence

#: Tokens that are said over and over again, at most.
MAX_PERIOD = 16
#: Times that they must have been said, and tokens that this must come to. Three short words in a row are a
#: manner of speaking ("very, very, very"); a dozen tokens are not.
TIMES, TOKENS = 3, 12


def repetition(tokens: Sequence[int], begin: int = 0) -> int | None:
    """The length to which ``tokens`` should be cut, or None if no prefix ends in a repetition.

    Looks at the prefixes that are longer than ``begin``, the shortest first; what was said is kept once.
    """
    for end in range(begin + 1, len(tokens) + 1):
        kept = _ends_in_repetition(tokens[:end])
        if kept is not None:
            return kept
    return None


def _ends_in_repetition(tokens: Sequence[int]) -> int | None:
    for period in range(1, min(MAX_PERIOD, len(tokens) // TIMES) + 1):
        if tokens[-1] != tokens[-1 - period]:
            continue
        times = max(TIMES, -(-TOKENS // period))
        span = times * period
        # A span repeats with a period if it equals itself moved by that period.
        if span <= len(tokens) and tokens[-span:-period] == tokens[len(tokens) - span + period :]:
            return len(tokens) - span + period
    return None
