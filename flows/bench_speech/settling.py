"""When words are settled: every later update shows them, and all words before them, unchanged."""

from collections.abc import Sequence

from operators.prefix import common_prefix


def settled(shown: Sequence[tuple[float, tuple[str, ...]]]) -> list[float]:
    """For each word of the last text, the seconds from the utterance's first update until it is settled.

    Args:
        shown: The time and the words of each update; at least one update.
    """
    begin_s, words = shown[0][0], shown[-1][1]
    settled_s = [shown[-1][0]] * len(words)
    least = len(words)
    for end_s, before in reversed(shown):
        least = min(least, common_prefix(before, words))
        settled_s[:least] = [end_s] * least
    return [end_s - begin_s for end_s in settled_s]
