"""Finds where an output starts to repeat itself endlessly, as small models do when they are lost.

A greedy decoder that has repeated a phrase several times repeats it until its limit: a hundred tokens that
nobody wants to read, each as costly as any other.
"""

from collections.abc import Sequence

#: Longest repeated phrase, in tokens.
MAX_PERIOD = 16
#: Minimum number of repetitions, and of tokens in all of them. Three short words in a row are normal speech
#: ("very, very, very"); a dozen tokens are not.
TIMES, TOKENS = 3, 12


def repetition(tokens: Sequence[int], begin: int = 0) -> int | None:
    """The length to which ``tokens`` should be cut, or None if no prefix ends in a repetition.

    Checks the prefixes longer than ``begin``, the shortest first. The repeated phrase is kept once.
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
        # A span repeats with a period if it equals itself shifted by that period.
        if span <= len(tokens) and tokens[-span:-period] == tokens[len(tokens) - span + period :]:
            return len(tokens) - span + period
    return None
