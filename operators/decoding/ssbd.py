"""Self-speculative biased decoding (SSBD; Zeng et al., section 3): the last output is the draft.

One pass evaluates what is new of the prompt together with the whole draft. The draft stands up to the
first token that the acceptance rule turns down; the model's own choice takes that place, and decoding
goes on from there: token by token, or with what other drafters offer. The draft need not come from a prefix
of the present source: verification makes it safe, not the way in which the source changed.
"""

from operators.decoding.acceptance import Acceptance
from operators.decoding.blockwise import decode
from operators.decoding.drafter import Drafter, FirstOf
from operators.decoding.forward import Method, Task
from operators.decoding.last_output import LastOutput


def ssbd(task: Task, acceptance: Acceptance, block: int | None = None, *others: Drafter) -> Method:
    """Verify ``task.draft`` and decode on from the first divergence.

    Committed tokens are in the pass, as all that follows depends on them, but ask for no logits: half of
    what a verified token costs is the output head.

    All of the draft is verified in one pass, unless little of it is likely to stand: with ``block`` the first
    pass looks at no more than so many tokens, and each further one, if all stood, at twice as many and one.
    A rule that looks at what follows a token (`WorthAcceptance`) needs the whole draft, and no ``block``.

    ``others`` draft after the divergence and where there is no last output, the first one before the next.
    """
    draft = task.draft[: task.limit]
    drafter = FirstOf(LastOutput(task, acceptance, block), *others)
    decoded = yield from decode(task, drafter, draft[: task.committed])
    return decoded._replace(drafted=len(draft))
