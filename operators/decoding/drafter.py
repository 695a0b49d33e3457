"""Where draft tokens come from: the last output, its rejected tail, n-grams, a second model; one contract.

A drafter proposes the next tokens; a pass of the model judges them. Drafters are asked in the order of their
precedence, and the first proposal is used.
"""

from collections.abc import Generator, Sequence
from typing import Protocol

from operators.decoding.drafts import Draft, Verified
from operators.decoding.forward import Logits, Request

#: A draft on its way; None where there is nothing to offer. A drafter that has a model of its own asks for
#: its passes.
Drafting = Generator[Request, Logits, Draft | None]


def at_once(draft: Draft | None) -> Drafting:
    """A draft that needs no pass."""
    return draft
    yield  # which makes this a generator


class Drafter(Protocol):
    """Drafts for one task, and learns from every pass of the model."""

    def learn(self, verified: Verified) -> None:
        """See what a pass said, before its rows are gone; whoever drafted what it judged."""
        ...

    def draft(self, output: Sequence[int]) -> Drafting:
        """Propose what follows ``output``.

        The last token of ``output`` is the model's own choice and not evaluated yet, except for the first
        tokens of the last output, and at the start, where it is empty.
        """
        ...


class FirstOf:
    """Several drafters in order of precedence; without any there is never a draft."""

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
