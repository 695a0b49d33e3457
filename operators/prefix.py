"""The longest common prefix, used for erasure and for reuse of the KV cache."""

from collections.abc import Sequence


def common_prefix(left: Sequence[object], right: Sequence[object]) -> int:
    """Length of the longest common prefix, |LCP(left, right)|."""
    length = min(len(left), len(right))
    # Slices compare in C; most texts are equal, or equal except for a few tokens.
    if left[:length] == right[:length]:
        return length
    low, high = 0, length
    while high - low > 1:
        middle = (low + high) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle
    return low
