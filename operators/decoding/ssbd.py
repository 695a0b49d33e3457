"""Self-speculative biased decoding (SSBD; Zeng et al., section 3): the last output is the draft.

One pass evaluates what is new of the prompt together with the whole draft. The draft stands up to the
first token that the acceptance rule turns down; the model's own choice takes that place, and decoding
goes on greedily from there. The draft need not come from a prefix of the present source: verification
makes it safe, not the way in which the source changed.
"""

import numpy as np

from operators.decoding.acceptance import Acceptance
from operators.decoding.forward import Forward, Logits, Method, Task, best_tokens
from operators.decoding.greedy import decode_on


def ssbd(task: Task, acceptance: Acceptance, block: int | None = None) -> Method:
    """Verify ``task.draft`` and decode on from the first divergence.

    Committed tokens are in the pass, as all that follows depends on them, but ask for no logits: half of
    what a verified token costs is the output head.

    All of the draft is verified in one pass, unless little of it is likely to stand: with ``block`` the first
    pass looks at no more than so many tokens, and each further one, if all stood, at twice as many.
    """
    prompt, draft = list(task.prompt), list(task.draft[: task.limit])
    place = min(task.committed, len(draft))
    gaps = [0.0] * place
    while True:
        end = len(draft) if block is None else min(len(draft), place + block)
        logits = yield Forward([*prompt, *draft[:end]], len(prompt) - 1 + place)
        # The last row already judges the first token after the block.
        checked = draft[place : end + 1]
        # All argmaxes in one call: most of the draft stands, and a row costs little beside its pass.
        best = best_tokens(logits)
        stood = 0
        while stood < len(checked) and (
            best[stood] == checked[stood] or acceptance.accepts(logits[stood], best[stood], checked[stood])
        ):
            stood += 1
        gaps += _gaps(logits[:stood], best, checked) if task.want_gaps else [0.0] * stood
        place += stood
        if stood < len(checked) or end == len(draft):
            break
        block = 2 * (block or len(draft))
    decoded = yield from decode_on(task, draft[:place], logits[stood])
    accepted = min(place, len(decoded.tokens))  # fewer if the draft repeated itself
    return decoded._replace(drafted=len(draft), accepted=accepted, gaps=tuple(gaps[:accepted]))


def _gaps(rows: Logits, best: list[int], draft: list[int]) -> list[float]:
    """Logit gap to the next best token where the draft is the best, else 0. Overwrites ``rows``."""
    places = np.arange(len(rows))
    top = rows[places, best[: len(rows)]]
    rows[places, best[: len(rows)]] = -np.inf
    gaps = top - rows.max(axis=1, initial=-np.inf)
    return [float(gap) if best[i] == draft[i] else 0.0 for i, gap in enumerate(gaps)]
