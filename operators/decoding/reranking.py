"""Reranking: whether another answer is worth what it takes back.

What was decoded from words that the recogniser has since corrected may be wrong from its first token on, and
still be likely token by token: "Es war das Beste der Zeiten" for "it was the best of times". A rule of
acceptance cannot know what would stand in its place, and how likely that is. So the answer is searched once
more from the place where it seems worth it, and the likelier one stays, at a price for each erased token:
reranking (Och et al. 2004) of two hypotheses.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from operators.decoding.acceptance import EXACT, WorthAcceptance
from operators.decoding.adjustment import outputs
from operators.decoding.beam import log_probabilities, most_probable
from operators.decoding.blockwise import PROPOSED
from operators.decoding.forward import (
    AskDraftModel,
    Decoded,
    Logits,
    Method,
    Request,
    Task,
    best_tokens,
    observed,
)
from operators.decoding.ssbd import ssbd
from operators.text import common_prefix


def reranked(task: Task, method: Method, price: float, beam: int = 1) -> Method:
    """The answer of ``method``, or one that gains more than ``price`` nats for each further erased token.

    Its gain is the difference of the mean log-probabilities behind what both have in common, times the number
    of its tokens there: without the mean the shorter one would win.

    The other one differs from the place where `WorthAcceptance` would cut the first one at this price, and
    is searched from there by ``beam`` hypotheses. Where it would not be cut, no pass is spent; nor is one to
    score the answers, of whose tokens each was chosen from a row that is remembered.
    """
    seen = _Seen(task, beam)
    first = yield from observed(method, seen.learn)
    # A token of another drafter may stand although it is not among the likely ones.
    if not first.accepted or first.cut is not None or (ours := seen.scores(first.tokens)) is None:
        return first
    passes = seen.passes
    place = WorthAcceptance(price).place((ours.best - ours.own)[:-1])
    if place == len(first.tokens):
        return first
    other = task._replace(draft=first.tokens[:place], committed=place, kept=0)
    second = yield from observed(ssbd(other, EXACT, beam=beam), seen.learn)
    place = common_prefix(first.tokens, second.tokens)
    erased = common_prefix(task.draft, first.tokens) - common_prefix(task.draft, second.tokens)
    if second.cut is None and (theirs := seen.scores(second.tokens)) is not None:
        gained = (theirs.own[place:].mean() - ours.own[place:].mean()) * len(theirs.own[place:])
        if gained > price * erased:
            return _joined(first, second, place)
    return first._replace(passes=passes)


class _Seen:
    """The likely tokens behind each output that a pass has evaluated, and what was drafted there."""

    def __init__(self, task: Task, beam: int) -> None:
        self._task = task
        # As many as a search of this width chooses from.
        self._count = 2 * beam
        self._logs: dict[tuple[int, ...], dict[int, float]] = {}
        #: Number of passes.
        self.passes = 0

    def learn(self, request: Request, rows: Logits) -> None:
        """Remember what a pass says, before its rows are overwritten."""
        if isinstance(request, AskDraftModel) or not len(rows):
            return
        self.passes += 1
        after = outputs(request, len(self._task.prompt))
        for output, row, best in zip(after, log_probabilities(rows), best_tokens(rows), strict=False):
            if output is not None:
                drafted = self._task.draft[len(output) : len(output) + 1]
                tokens = (best, *drafted, *most_probable(row, self._count))
                self._logs[output] = {token: float(row[token]) for token in tokens}

    def scores(self, answer: tuple[int, ...]) -> "_Scores | None":
        """The log-probabilities of an answer; None if one of them is not known."""
        likely = [self._logs.get(answer[:place], {}) for place in range(len(answer) + 1)]
        # Whatever ends an answer is the most probable token there.
        tokens = [*answer, max(likely[-1], key=likely[-1].__getitem__, default=-1)]
        if not all(token in logs for token, logs in zip(tokens, likely, strict=True)):
            return None
        own = [logs[token] for token, logs in zip(tokens, likely, strict=True)]
        return _Scores(np.array(own), np.array([max(logs.values()) for logs in likely]))


class _Scores(NamedTuple):
    """Log-probabilities in each place of an answer and behind it, shape (tokens + 1,)."""

    own: NDArray[np.float64]
    #: Those of the most probable tokens.
    best: NDArray[np.float64]


def _joined(first: Decoded, second: Decoded, place: int) -> Decoded:
    """The second answer, which has what stands before ``place`` from the first one."""
    origins = (*first.origins[:place], *second.origins[place:])
    accepted = min(first.accepted, place)
    return first._replace(
        tokens=second.tokens,
        accepted=accepted,
        taken=sum(origin in PROPOSED for origin in origins),
        origins=origins,
        gaps=first.gaps[:accepted],
    )
