"""Self-speculative biased decoding (SSBD; Zeng et al., section 3): the last output is the draft.

One pass evaluates the new part of the prompt together with the whole draft. The draft is accepted up to the
first token that the acceptance rule rejects; the model's own choice takes that place, and decoding continues
from there, token by token or with drafts of other drafters. The draft need not come from a prefix of the
current source: verification makes it safe, however the source changed.
"""

from operators.decoding.acceptance import Acceptance
from operators.decoding.blockwise import decode
from operators.decoding.drafter import Drafter, FirstOf
from operators.decoding.forward import Method, Task
from operators.decoding.last_output import LastOutput


def ssbd(task: Task, acceptance: Acceptance, block: int | None = None, *others: Drafter) -> Method:
    """Verify ``task.draft`` and continue decoding from the first divergence.

    Committed tokens are in the pass, because all that follows depends on them, but request no logits: half
    the cost of a verified token is the output head.

    The whole draft is verified in one pass, unless little of it is likely to be accepted: with ``block`` the
    first pass verifies at most so many tokens, and each further one, if all were accepted, twice as many plus
    one. A rule that looks at what follows a token (`WorthAcceptance`) needs the whole draft and no ``block``.

    ``others`` draft after the divergence and if there is no last output, in order of precedence.
    """
    draft = task.draft[: task.limit]
    drafter = FirstOf(LastOutput(task, acceptance, block), *others)
    decoded = yield from decode(task, drafter, draft[: task.committed])
    return decoded._replace(drafted=len(draft))
