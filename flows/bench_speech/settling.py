"""When words are settled: shown, with all words before them, in every update to come."""

from collections.abc import Sequence

from operators.prefix import common_prefix


def settled(shown: Sequence[tuple[float, tuple[str, ...]]]) -> list[float]:
    """For each word of an utterance's last text the seconds from its first update to that which settled it.

    Args:
        shown: When each update came, and its words; at least one.
    """
    begin_s, words = shown[0][0], shown[-1][1]
    settled_s = [shown[-1][0]] * len(words)
    least = len(words)
    for end_s, before in reversed(shown):
        least = min(least, common_prefix(before, words))
        settled_s[:least] = [end_s] * least
    return [end_s - begin_s for end_s in settled_s]
