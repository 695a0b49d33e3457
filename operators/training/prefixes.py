"""Which prefix of a target belongs to a prefix of its source.

Two methods: proportional length (Arivazhagan et al. 2020, "Re-translation versus streaming for simultaneous
translation", prefix training), and the longest prefix that the source's words support, by word alignment.
Lengths are in words, or in pieces for scripts without spaces, and are monotone in the source's length.
"""

from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from operators.training.alignment import Alignment


def proportional(n_source: int, m_target: int, i: int) -> int:
    """How many of `m_target` words go with the first `i` of `n_source` words, rounded down."""
    _check(n_source, i)
    return m_target if i == n_source else m_target * i // n_source


def supports(
    alignment: Alignment, n_source: int, m_target: int, waits: Sequence[int] | None = None
) -> list[int]:
    """For each number of source words, 1 to `n_source`, how many target words they support.

    A target word is supported if all source words to which it is aligned are there, and all words before it
    are supported. A word without a link (an article, an auxiliary, a particle) is supported together with the
    next word that has one, because it belongs to what follows it. After the last linked word, all of the
    source is needed.

    Args:
        alignment: Links as `operators.training.alignment.align` returns them.
        n_source, m_target: Words of the source, at least 1, and of the target.
        waits: For each target word the index of the word, at or after it, that decides its form, as a noun
            decides its article's (`operators.training.agreement`). It is not supported before that one.
    """
    _check(n_source, 0)
    # How many source words each target word needs: up to the last one to which it is linked.
    needed = np.zeros(m_target, np.int64)
    if len(alignment):
        np.maximum.at(needed, alignment[:, 1], alignment[:, 0] + 1)
    follows = n_source
    for j in range(m_target - 1, -1, -1):
        follows = needed[j] = needed[j] or follows
    before = np.maximum.accumulate(needed)
    if waits is not None:
        before = np.maximum.accumulate(before[_reach(waits)])
    table = np.searchsorted(before, np.arange(1, n_source + 1), side="right")
    table[-1] = m_target
    return [int(length) for length in table]


def joined_supports(tables: Sequence[Sequence[int]]) -> list[int]:
    """The table of a sequence of sentences from their separate tables."""
    before = accumulate((table[-1] for table in tables), initial=0)
    return [start + length for start, table in zip(before, tables, strict=False) for length in table]


def _reach(waits: Sequence[int]) -> list[int]:
    """The last word for which each word waits, directly or through words between."""
    reach = list(waits)
    for j in range(len(reach) - 1, -1, -1):
        if reach[j] > j:
            reach[j] = max(reach[j], *reach[j + 1 : reach[j] + 1])
    return reach


def _check(n_source: int, i: int) -> None:
    if not (n_source >= 1 and 0 <= i <= n_source):
        raise ValueError(f"a prefix of {i} words of a source of {n_source}")
