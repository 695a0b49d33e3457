"""Drafts: the tokens that drafters propose, the pass that verifies them, and its result.

A drafter proposes the next tokens (the last output, its rejected tail, n-grams, a draft model); a pass of the
model verifies them. Drafters are called in order of precedence, and the first proposal is used.
"""

from collections.abc import Container, Generator, Sequence
from typing import NamedTuple, Protocol

import msgspec

from operators.decoding.acceptance import EXACT, Acceptance
from operators.decoding.forward import Forward, Logits, Origin, Request, Task, best_tokens


class Draft(msgspec.Struct, frozen=True):
    """Tokens to verify in the next pass."""

    tokens: tuple[int, ...] = ()
    #: The source of the tokens.
    origin: Origin = Origin.OWN
    #: The rule that decides which tokens are accepted.
    acceptance: Acceptance = EXACT
    #: Number of tokens at the end that the pass omits because its last row already verifies them: 0 or 1.
    left_out: int = 0

    def origin_of(self, node: int) -> Origin:  # noqa: ARG002 - drafts of several sources use it
        return self.origin

    def within(self, room: int, stop: Container[int]) -> "Draft":
        """The draft up to its first ``stop`` token, and at most ``room`` tokens of it."""
        tokens = self.tokens[:room]
        count = next((place for place, token in enumerate(tokens) if token in stop), len(tokens))
        if count == len(self.tokens):
            return self
        return msgspec.structs.replace(self, tokens=tokens[:count], left_out=0)

    def request(self, task: Task, output: Sequence[int]) -> Request:
        tokens = [*task.prompt, *output, *self.tokens[: len(self.tokens) - self.left_out]]
        begin = len(task.prompt)
        return Forward(tokens, begin + len(output) - 1, begin, task.kept)

    def verified(self, begin: int, rows: Logits) -> "Verified":
        """Verify the draft with the model's rows; the first row is that after ``begin`` output tokens."""
        # All argmaxes in one call: a row costs little compared with its pass.
        choices = best_tokens(rows)
        path = range(self.acceptance.accepted_length(rows, choices, self.tokens))
        return Verified(begin, self, path, choices, rows)


class Verified(NamedTuple):
    """The result of one pass that verified a draft of n tokens."""

    #: Number of output tokens before the draft.
    begin: int
    draft: Draft
    #: The numbers of the accepted tokens: the first ones, or a path through a tree from its root on.
    path: Sequence[int]
    #: The model's choice after the known tokens, then after each token in the pass. Those after a rejected
    #: token are only guesses.
    choices: list[int]
    #: Shape (n + 1, vocabulary), or (n, vocabulary) if the pass omitted the last token; valid until the next
    #: pass. Row i + 1 belongs to token i.
    rows: Logits

    @property
    def accepted_length(self) -> int:
        return len(self.path)

    @property
    def last(self) -> int:
        """The row after all accepted tokens."""
        return self.path[-1] + 1 if self.path else 0

    @property
    def own(self) -> int | None:
        """The model's own next token; None if the last row only confirmed a token that the pass omitted."""
        return self.choices[self.last] if self.last < len(self.choices) else None


#: A draft being made; returns None if there is no proposal. A drafter with its own model yields requests for
#: its passes.
Drafting = Generator[Request, Logits, Draft | None]


def at_once(draft: Draft | None) -> Drafting:
    """Return a draft that needs no pass."""
    return draft
    yield  # which makes this a generator


class Drafter(Protocol):
    """Proposes drafts for one task, and learns from every pass of the model."""

    def learn(self, verified: Verified) -> None:
        """Learn from a pass before its rows are overwritten, whichever drafter made the draft."""
        ...

    def draft(self, output: Sequence[int]) -> Drafting:
        """Propose what follows ``output``.

        The last token of ``output`` is the model's own choice and is not evaluated yet. There are two
        exceptions: tokens kept from the last output, and the start, when ``output`` is empty.
        """
        ...


class FirstOf:
    """Several drafters in order of precedence; without any there is never a draft."""

    def __init__(self, *drafters: Drafter) -> None:
        self._drafters = drafters

    def learn(self, verified: Verified) -> None:
        for drafter in self._drafters:
            drafter.learn(verified)

    def draft(self, output: Sequence[int]) -> Drafting:
        for drafter in self._drafters:
            draft = yield from drafter.draft(output)
            if draft is not None:
                return draft
        return None
