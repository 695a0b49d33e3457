"""Self-speculative biased decoding (SSBD; Zeng et al., section 3): the last output is the draft.

One pass evaluates the new part of the prompt together with the whole draft. The draft is accepted up to the
first token that the acceptance rule rejects; the model's own choice takes that place, and decoding continues
from there, token by token or with drafts of other drafters. The draft need not come from a prefix of the
current source: verification makes it safe, however the source changed. The two extremes, `retranslate` and
`continuous`, are here too.
"""

from collections.abc import Sequence

from operators.decoding.acceptance import EXACT, Acceptance
from operators.decoding.blockwise import decode
from operators.decoding.drafts import Draft, Drafter, Drafting, FirstOf, Verified, at_once
from operators.decoding.forward import Method, Origin, Task


class LastOutput:
    """Drafts ``task.draft`` up to its first rejected token, and nothing after it."""

    def __init__(self, task: Task, acceptance: Acceptance, block: int | None = None) -> None:
        """With ``block`` the first pass verifies that many tokens, each later one twice as many plus one."""
        self._draft = task.draft[: task.limit]
        self._acceptance = acceptance
        self._block = block
        self._is_over = not self._draft

    def learn(self, verified: Verified) -> None:
        if verified.own is not None:
            self._is_over = True
        elif self._block is not None:
            # The last row verifies one token after the block: 8, 16, 32 rows in all.
            self._block = 2 * self._block + 1

    def draft(self, output: Sequence[int]) -> Drafting:
        return at_once(None if self._is_over else self._next(len(output)))

    def _next(self, place: int) -> Draft:
        length = len(self._draft)
        end = length if self._block is None else min(length, place + self._block)
        # The last row already verifies the first token after the block.
        verified = self._draft[place : end + 1]
        return Draft(tuple(verified), Origin.DRAFT, self._acceptance, left_out=int(end < length))


def ssbd(
    task: Task, acceptance: Acceptance, block: int | None = None, *others: Drafter, beam: int = 1
) -> Method:
    """Verify ``task.draft`` and continue decoding from the first divergence.

    Committed tokens are in the pass, because all later tokens depend on them, but request no logits: half the
    cost of a verified token is the output head.

    The whole draft is verified in one pass, unless little of it is likely to be accepted: with ``block`` the
    first pass verifies at most that many tokens. If all were accepted, each further pass verifies twice as
    many plus one. A rule that uses the tokens after a token (`UtilityAcceptance`) excludes ``block``.

    If a search after the draft only repeats the draft's last phrase, the draft is verified again without that
    phrase, and no token is committed.

    ``others`` draft after the divergence and if there is no last output, in order of precedence.
    """
    drafted = len(task.draft[: task.limit])
    while True:
        known = task.draft[: min(task.committed, task.limit)]
        drafter = FirstOf(LastOutput(task, acceptance, block), *others)
        decoded = yield from decode(task, drafter, known, beam)
        if decoded.doubted is None:
            return decoded._replace(drafted=drafted)
        # It is shorter each time, so this ends.
        task = task._replace(draft=decoded.tokens[: decoded.doubted], committed=0, kept=0)


def retranslate(task: Task) -> Method:
    """Translate from scratch (re-translation, Niehues et al. 2018; Arivazhagan et al. 2020).

    The prompt's part of the KV cache is still reused, which makes this a fair baseline.
    """
    return decode(task, FirstOf())


def continuous(task: Task) -> Method:
    """Keep all of ``task.draft`` and continue decoding after it."""
    return ssbd(task._replace(committed=len(task.draft)), EXACT)
