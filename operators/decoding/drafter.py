"""Sources of draft tokens under one contract: the last output, its rejected tail, n-grams, a draft model.

A drafter proposes the next tokens; a pass of the model judges them. Drafters are asked in order of
precedence, and the first proposal is used.
"""

from collections.abc import Generator, Sequence
from typing import Protocol

from operators.decoding.drafts import Draft, Verified
from operators.decoding.forward import Logits, Request

#: A draft being made; None if there is nothing to offer. A drafter with its own model yields requests for its
#: passes.
Drafting = Generator[Request, Logits, Draft | None]


def at_once(draft: Draft | None) -> Drafting:
    """Return a draft that needs no pass."""
    return draft
    yield  # which makes this a generator


class Drafter(Protocol):
    """Drafts for one task, and learns from every pass of the model."""

    def learn(self, verified: Verified) -> None:
        """Learn from a pass before its rows are overwritten, whichever drafter made the draft."""
        ...

    def draft(self, output: Sequence[int]) -> Drafting:
        """Propose what follows ``output``.

        The last token of ``output`` is the model's own choice and is not evaluated yet. Exceptions are the
        first tokens of the last output, and the start, where ``output`` is empty.
        """
        ...


class FirstOf:
    """Several drafters in order of precedence; with none there is never a draft."""

    def __init__(self, *drafters: Drafter) -> None:
        self._drafters = drafters

    def learn(self, verified: Verified) -> None:
        """Let all of them learn."""
        for drafter in self._drafters:
            drafter.learn(verified)

    def draft(self, output: Sequence[int]) -> Drafting:
        """The first draft that one of them offers."""
        for drafter in self._drafters:
            draft = yield from drafter.draft(output)
            if draft is not None:
                return draft
        return None
