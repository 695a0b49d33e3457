"""A draft, and a pass's verdict on it: what drafters offer and what they learn from."""

from collections.abc import Sequence
from typing import NamedTuple

from operators.decoding.acceptance import EXACT, Acceptance
from operators.decoding.forward import Logits, Origin
from operators.decoding.tree import TokenTree


class Draft(NamedTuple):
    """Tokens to verify in the next pass."""

    tree: TokenTree = TokenTree()
    #: The source of the tokens.
    origin: Origin = Origin.OWN
    #: The rule that decides which tokens stand.
    acceptance: Acceptance = EXACT
    #: Tokens at the end of a chain omitted from the pass because its last row already judges them: 0 or 1.
    left_out: int = 0
    #: The source of each token, if the sources differ.
    origins: tuple[Origin, ...] = ()

    @property
    def tokens(self) -> tuple[int, ...]:
        """The tokens of all nodes."""
        return self.tree.tokens

    def origin_of(self, node: int) -> Origin:
        """The source of the token of ``node``."""
        return self.origins[node] if self.origins else self.origin

    def only(self, nodes: Sequence[int]) -> "Draft":
        """The draft restricted to ``nodes``, which must contain the parents of all its members."""
        if len(nodes) == self.tree.size:
            return self
        origins = tuple(self.origins[node] for node in nodes) if self.origins else ()
        return self._replace(tree=self.tree.only(nodes), left_out=0, origins=origins)


class Verified(NamedTuple):
    """The verdict of one pass on a draft of n tokens."""

    #: Number of output tokens before the draft.
    begin: int
    draft: Draft
    #: The nodes that stand, from the root on; for a chain, its first ones.
    path: Sequence[int]
    #: The model's choice after the known tokens, then after each node in the pass. Those after a rejected
    #: node are only guesses.
    choices: list[int]
    #: Shape (n + 1, vocabulary), or (n, vocabulary) if the pass omitted the last token; valid until the next
    #: pass. Row i + 1 belongs to node i.
    rows: Logits

    @property
    def accepted_length(self) -> int:
        """Number of accepted tokens."""
        return len(self.path)

    @property
    def last(self) -> int:
        """The row after all tokens that stand."""
        return self.path[-1] + 1 if self.path else 0

    @property
    def own(self) -> int | None:
        """The model's own next token.

        None if the last row has only confirmed a token that the pass omitted.
        """
        return self.choices[self.last] if self.last < len(self.choices) else None
