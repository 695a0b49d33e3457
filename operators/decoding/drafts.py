"""A draft, and what a pass says about it: what drafters offer and learn from."""

from collections.abc import Sequence
from typing import NamedTuple

from operators.decoding.acceptance import EXACT, Acceptance
from operators.decoding.forward import Logits, Origin
from operators.decoding.tree import TokenTree


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


class Verified(NamedTuple):
    """What one pass says about a draft of n tokens."""

    #: Tokens of the output before the draft.
    begin: int
    draft: Draft
    #: The nodes that stand, from the root on; of a chain its first ones.
    path: Sequence[int]
    #: The model's choice after the known tokens, and then after each node that was in the pass. Behind a node
    #: that fell they are guesses.
    choices: list[int]
    #: Shape (n + 1, vocabulary), or (n, vocabulary) where the pass left the last token out; valid until the
    #: next pass. Row i + 1 is that of node i.
    rows: Logits

    @property
    def stood(self) -> int:
        """How many tokens stand."""
        return len(self.path)

    @property
    def last(self) -> int:
        """The row after all that stands."""
        return self.path[-1] + 1 if self.path else 0

    @property
    def own(self) -> int | None:
        """The model's own next token.

        None where its last row has confirmed a token that the pass left out.
        """
        return self.choices[self.last] if self.last < len(self.choices) else None
