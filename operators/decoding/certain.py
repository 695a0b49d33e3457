"""Greedy decoding with a draft, on a model whose passes are not batch-invariant.

A pass over many tokens gives slightly different logits than passes over one token each: if activations are
quantised together with the rest of the batch, even the draft's rejected end changes the rows before it. A
draft verified in one pass therefore equals greedy decoding's output only up to near ties. Here an output is
accepted if every decision in it was clearer than that noise; otherwise it is decoded from scratch.
"""

from collections.abc import Sequence

import numpy as np

from operators.decoding.blockwise import decode
from operators.decoding.drafter import Drafting, at_once
from operators.decoding.drafts import Draft, Verified
from operators.decoding.forward import Logits, Method, Origin, Task
from operators.decoding.greedy import retranslate


def certain(task: Task, margin: float) -> Method:
    """Verify ``task.draft`` against greedy decoding and continue from the first divergence.

    ``margin`` is the noise of a pass: the smallest gap between the logits of the best token and the next one
    at which a decision is certain. The prompt is evaluated separately from the draft, as in greedy decoding.
    """
    drafter = _Apart(task)
    decoded = yield from decode(task, drafter)
    if drafter.least < margin:
        decoded = yield from retranslate(task)
    return decoded._replace(drafted=len(task.draft[: task.limit]))


class _Apart:
    """Drafts the last output after its first token, once, and records how close later decisions were."""

    def __init__(self, task: Task) -> None:
        self._draft = tuple(task.draft[: task.limit])
        self._is_used = False
        self.least = np.inf

    def learn(self, verified: Verified) -> None:
        """Look at the rows of the accepted tokens, and of the model's own next token."""
        if self._is_used:
            self.least = min(self.least, *gaps_to_next(verified.rows[: verified.accepted_length + 1]))

    def draft(self, output: Sequence[int]) -> Drafting:
        """The rest of the last output, if the model itself started in the same way."""
        if self._is_used or tuple(output) != self._draft[:1] or len(self._draft) < 2:
            return at_once(None)
        self._is_used = True
        return at_once(Draft(self._draft[1:], Origin.DRAFT))


def gaps_to_next(rows: Logits) -> list[float]:
    """The gap between the best logit of each row and the next best; ``rows`` has shape (n, vocabulary)."""
    top = np.partition(rows, -2, axis=1)[:, -2:]
    gaps: list[float] = (top[:, 1] - top[:, 0]).tolist()
    return gaps
