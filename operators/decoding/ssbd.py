"""Self-speculative biased decoding (SSBD; Zeng et al., section 3): the last output is the draft.

One pass evaluates what is new of the prompt together with the whole draft. The draft stands up to the
first token that the acceptance rule turns down; the model's own choice takes that place, and decoding
goes on from there: token by token, or with proposals. The draft need not come from a prefix of the
present source: verification makes it safe, not the way in which the source changed.
"""

import numpy as np

from operators.decoding.acceptance import EXACT, Acceptance
from operators.decoding.blockwise import decode_on
from operators.decoding.forward import Forward, Method, Origin, Task
from operators.decoding.proposals import NoProposals, Proposer
from operators.decoding.verify import Verified, verify


def ssbd(
    task: Task,
    acceptance: Acceptance,
    block: int | None = None,
    proposer: Proposer | None = None,
    proposed: Acceptance = EXACT,
) -> Method:
    """Verify ``task.draft`` and decode on from the first divergence.

    Committed tokens are in the pass, as all that follows depends on them, but ask for no logits: half of
    what a verified token costs is the output head.

    All of the draft is verified in one pass, unless little of it is likely to stand: with ``block`` the first
    pass looks at no more than so many tokens, and each further one, if all stood, at twice as many and one.
    A rule that looks at what follows a token (`WorthAcceptance`) needs the whole draft, and no ``block``.

    After the divergence ``proposer`` may propose tokens, which the rule ``proposed`` verifies.
    """
    proposer = proposer or NoProposals()
    prompt, draft = list(task.prompt), list(task.draft[: task.limit])
    committed = place = min(task.committed, len(draft))
    gaps = [0.0] * place
    while True:
        end = len(draft) if block is None else min(len(draft), place + block)
        rows = yield Forward([*prompt, *draft[:end]], len(prompt) - 1 + place)
        # The last row already judges the first token after the block.
        verified = verify(place, draft[place : end + 1], rows, acceptance)
        proposer.learn(verified)
        gaps += _gaps(verified) if task.want_gaps else [0.0] * verified.stood
        place += verified.stood
        if verified.stood < len(verified.proposed) or end == len(draft):
            break
        # The last row is one more than the block: 8, 16, 32 rows in all.
        block = 2 * (block or len(draft)) + 1
    decoded = yield from decode_on(task, draft[:place], verified.choices[verified.stood], proposer, proposed)
    accepted = min(place, len(decoded.tokens))  # fewer if the draft repeated itself
    unseen = min(committed, accepted)
    return decoded._replace(
        drafted=len(draft),
        accepted=accepted,
        origins=(Origin.COMMITTED,) * unseen + decoded.origins[unseen:],
        gaps=tuple(gaps[:accepted]),
    )


def _gaps(verified: Verified) -> list[float]:
    """Logit gap to the next best token where the draft is the best, else 0. Overwrites the rows."""
    count = verified.stood
    rows, best = verified.rows[:count], verified.choices[:count]
    places = np.arange(count)
    top = rows[places, best]
    rows[places, best] = -np.inf
    gaps = top - rows.max(axis=1, initial=-np.inf)
    return [float(gap) if best[i] == verified.proposed[i] else 0.0 for i, gap in enumerate(gaps)]
