"""Beam search: the most probable of several continuations, where a greedy decoder chooses token by token.

A small model often chooses a word that has no good continuation. A beam search evaluates the next token of
the most probable hypotheses in one pass (docs/method.md). Hypotheses far behind the best are dropped
(threshold pruning, Freitag and Al-Onaizan 2017), so a certain model follows only one. A hypothesis that ends
in the same tokens as a better one is dropped too (recombination, Zhang et al. 2018).
"""

from collections.abc import Callable, Generator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from operators.decoding.forward import BeamForward, Logits, Task, best_tokens

#: A hypothesis is dropped if it is ``_BEHIND`` nats less probable than the best one, or if its last ``_SAME``
#: tokens are those of a better one (docs/tried.md#decoding).
_BEHIND, _SAME = 1.0, 2


class _Hypothesis(NamedTuple):
    tokens: tuple[int, ...]
    #: Its log-probability, with that of its end if it has ended.
    score: float
    has_ended: bool = False

    @property
    def mean(self) -> float:
        """The mean score per token: by the sum the shortest would win (Wu et al. 2016, section 7)."""
        return self.score / (len(self.tokens) + self.has_ended)


#: A continuation being searched; None if the search fails.
Searching = Generator[BeamForward, Logits, tuple[int, ...] | None]


def search(
    task: Task, output: Sequence[int], row: Logits, width: int, is_lost: Callable[[Sequence[int]], bool]
) -> Searching:
    """Search the most probable continuation of ``output``, without its stop token.

    Args:
        task: Contains the prompt, the stop tokens and the maximum length.
        output: The known tokens of the answer.
        row: The logits after them, shape (vocabulary,).
        width: Maximum number of hypotheses.
        is_lost: Whether an output has to be given up, such as one that repeats itself.

    Returns:
        The best hypothesis that ended. None if none ended within the limit, or if the session cannot hold so
        many: then decode greedily, because a search repeats itself sooner.
    """
    known, best = [*task.prompt, *output], _Hypothesis((), -np.inf, has_ended=True)
    live, rows = [_Hypothesis((), 0.0)], row[np.newaxis]
    while True:
        longer = _longer(live, rows, width, task)
        best = max([best, *(one for one in longer if one.has_ended)], key=lambda one: one.mean)
        live = [one for one in longer if not one.has_ended and not is_lost([*output, *one.tokens])]
        if not live and best.score == -np.inf:
            return None
        if not live or best.mean >= max(one.mean for one in live):
            return best.tokens
        if len(output) + len(live[0].tokens) >= task.limit:
            return best.tokens if best.score > -np.inf else None
        rows = yield BeamForward(known, [one.tokens for one in live], len(task.prompt), task.kept)
        if not len(rows):
            return None


def _longer(live: Sequence[_Hypothesis], rows: Logits, width: int, task: Task) -> list[_Hypothesis]:
    """The best hypotheses that continue, ``width`` at most, and those that end.

    A hypothesis ends only where a stop token is the most probable one. Rules that forbid an end check no
    further (`operators.decoding.adjustment`), and an early end after few tokens often has the best mean.
    """
    longer: list[_Hypothesis] = []
    ended: list[_Hypothesis] = []
    for one, row, best in zip(live, log_probabilities(rows), best_tokens(rows), strict=True):
        if best in task.stop:
            ended.append(_Hypothesis(one.tokens, one.score + float(row[best]), has_ended=True))
        longer += [
            _Hypothesis((*one.tokens, token), one.score + float(row[token]))
            for token in most_probable(row, 2 * width)
            if token not in task.stop and np.isfinite(row[token])
        ]
    return [*ended, *_promising(longer)[:width]]


def _promising(hypotheses: Sequence[_Hypothesis]) -> list[_Hypothesis]:
    ranked = sorted(hypotheses, key=lambda one: -one.score)
    ends: dict[tuple[int, ...], _Hypothesis] = {}
    for one in ranked:
        if one.score > ranked[0].score - _BEHIND:
            ends.setdefault(one.tokens[-_SAME:], one)
    return list(ends.values())


def log_probabilities(rows: Logits) -> NDArray[np.float32]:
    """The log-probabilities of all tokens in each row, in nats."""
    best = rows[np.arange(len(rows)), best_tokens(rows)][:, np.newaxis]
    above = rows - best
    logs: NDArray[np.float32] = above - np.log(np.exp(above).sum(axis=1, keepdims=True))
    return logs


def most_probable(row: NDArray[np.float32], count: int) -> Sequence[int]:
    """The most probable tokens of a row, ``count`` at most, in any order."""
    if count >= len(row):
        return range(len(row))
    found: list[int] = np.argpartition(row, -count)[-count:].tolist()
    return found
