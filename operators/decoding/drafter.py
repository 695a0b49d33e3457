"""Where draft tokens come from: the last output, its rejected tail, n-grams, a second model; one contract.

A drafter proposes the next tokens; a pass of the model judges them. Drafters are asked in the order of their
precedence, and the first proposal is used.
"""

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from operators.decoding.acceptance import EXACT, Acceptance
from operators.decoding.forward import Logits, Origin, Request
from operators.decoding.tree import TokenTree

if TYPE_CHECKING:
    from operators.decoding.verify import Verified


class Draft(NamedTuple):
    """Tokens to verify in the next pass."""

    tree: TokenTree = TokenTree()
    #: Where they come from.
    origin: Origin = Origin.OWN
    #: The rule by which they stand.
    acceptance: Acceptance = EXACT
    #: Tokens at the end of a chain that the pass leaves out, as its last row judges them already: 0 or 1.
    left_out: int = 0
    #: Where each token comes from, if that is not the same for all.
    origins: tuple[Origin, ...] = ()

    @property
    def tokens(self) -> tuple[int, ...]:
        """The tokens of all nodes."""
        return self.tree.tokens

    def origin_of(self, node: int) -> Origin:
        """Where the token of ``node`` comes from."""
        return self.origins[node] if self.origins else self.origin

    def only(self, nodes: Sequence[int]) -> "Draft":
        """The draft of ``nodes``, the parents of all of which are among them."""
        if len(nodes) == self.tree.size:
            return self
        origins = tuple(self.origins[node] for node in nodes) if self.origins else ()
        return self._replace(tree=self.tree.only(nodes), left_out=0, origins=origins)


#: A draft on its way; None where there is nothing to offer. A drafter that has a model of its own asks for
#: its passes.
Drafting = Generator[Request, Logits, Draft | None]


def at_once(draft: Draft | None) -> Drafting:
    """A draft that needs no pass."""
    return draft
    yield  # which makes this a generator


class Drafter(Protocol):
    """Drafts for one task, and learns from every pass of the model."""

    def learn(self, verified: "Verified") -> None:
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

    def learn(self, verified: "Verified") -> None:
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
