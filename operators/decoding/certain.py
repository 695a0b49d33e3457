"""Greedy decoding with a draft, on a model whose passes are not batch-invariant.

A pass over many tokens gives slightly different logits than passes over one token each: where activations
are quantised by what else is in the batch, even the draft's rejected end changes the rows before it. A draft
that one pass has verified is therefore greedy decoding's output only up to near ties. Here an output in which
every decision was clearer than that noise stands; any other is decoded from scratch.
"""

import numpy as np

from operators.decoding.acceptance import EXACT
from operators.decoding.blockwise import decode_on
from operators.decoding.forward import Forward, Logits, Method, Origin, Task, best_tokens
from operators.decoding.greedy import retranslate
from operators.decoding.proposals import NoProposals
from operators.decoding.verify import Verified, verify


def certain(task: Task, margin: float) -> Method:
    """Verify ``task.draft`` against greedy decoding and decode on from the first divergence.

    ``margin`` is the noise of a pass: the least gap between the logits of the best token and the next one at
    which a decision is certain. The prompt is evaluated apart from the draft, as greedy decoding does it.
    """
    prompt, draft = list(task.prompt), list(task.draft[: task.limit])
    if not draft:
        return (yield from retranslate(task))
    watch = _Watch()
    rows = yield Forward(prompt, len(prompt) - 1)
    place, token = 0, best_tokens(rows[-1:])[0]
    if token == draft[0]:
        rows = yield Forward([*prompt, *draft], len(prompt))
        verified = verify(1, draft[1:], rows, EXACT)
        watch.learn(verified)
        place, token = 1 + verified.stood, verified.choices[verified.stood]
    decoded = yield from decode_on(task, draft[:place], token, watch)
    if place and watch.least < margin:
        decoded, place = (yield from retranslate(task)), 0
    accepted = min(place, len(decoded.tokens))
    return decoded._replace(
        drafted=len(draft),
        accepted=accepted,
        origins=(Origin.DRAFT,) * accepted + decoded.origins[accepted:],
    )


class _Watch(NoProposals):
    """Proposes nothing, and sees by how little the closest decision was made."""

    def __init__(self) -> None:
        self.least = np.inf

    def learn(self, verified: Verified) -> None:
        """See the rows of the tokens that stood, and that of the model's own next token."""
        self.least = min(self.least, *gaps_to_next(verified.rows[: verified.stood + 1]))


def gaps_to_next(rows: Logits) -> list[float]:
    """The gap between the best logit of each row and the next best; ``rows`` has shape (n, vocabulary)."""
    top = np.partition(rows, -2, axis=1)[:, -2:]
    gaps: list[float] = (top[:, 1] - top[:, 0]).tolist()
    return gaps
