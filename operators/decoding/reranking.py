"""Reranking: whether another answer is worth what it takes back.

What was decoded from words that the recogniser has since corrected may be wrong from its first token on, and
still be likely token by token: "Es war das Beste der Zeiten" for "it was the best of times". A rule of
acceptance cannot know what would stand in its place, and how likely that is. So the answer is searched once
more from the place where it seems worth it, and the likelier one stays, at a price for each erased token:
reranking (Och et al. 2004) of two hypotheses.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from operators.decoding.acceptance import EXACT, WorthAcceptance
from operators.decoding.beam import log_probabilities
from operators.decoding.blockwise import PROPOSED
from operators.decoding.forward import Decoded, Forward, Logits, Method, Task, best_tokens
from operators.decoding.ssbd import ssbd
from operators.text import common_prefix


def reranked(task: Task, method: Method, price: float, beam: int = 1) -> Method:
    """The answer of ``method``, or one that gains more than ``price`` nats for each further erased token.

    Its gain is the difference of the mean log-probabilities behind what both have in common, times the number
    of its tokens there: without the mean the shorter one would win.

    The other one differs from the place where `WorthAcceptance` would cut the first one at this price, and
    is searched from there by ``beam`` hypotheses. Where it would not be cut, nothing but one pass is spent.
    """
    first = yield from method
    if not first.accepted or first.cut is not None:
        return first
    prompt = len(task.prompt)
    rows = yield Forward([*task.prompt, *first.tokens], prompt - 1)
    place = WorthAcceptance(price).accepted_length(rows, best_tokens(rows), first.tokens)
    if place == len(first.tokens):
        return first
    # Before the next request, which may overwrite the rows.
    ours = _logs(rows, first.tokens)
    other = task._replace(draft=first.tokens[:place], committed=place, kept=0)
    second = yield from ssbd(other, EXACT, beam=beam)
    if second.cut is not None:
        return first
    place = common_prefix(first.tokens, second.tokens)
    rows = yield Forward([*task.prompt, *second.tokens], prompt - 1 + place)
    theirs = _logs(rows, second.tokens[place:])
    gained = (theirs.mean() - ours[place:].mean()) * len(theirs)
    erased = common_prefix(task.draft, first.tokens) - common_prefix(task.draft, second.tokens)
    return _joined(first, second, place) if gained > price * erased else first


def _logs(rows: Logits, tokens: Sequence[int]) -> NDArray[np.float32]:
    """The log-probability of each token, and of the end behind them: the most probable token there."""
    chosen = [*tokens, *best_tokens(rows[-1:])]
    logs: NDArray[np.float32] = log_probabilities(rows)[np.arange(len(chosen)), chosen]
    return logs


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
