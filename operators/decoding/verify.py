"""How much of a draft is accepted in the pass that verified it."""

from collections.abc import Sequence
from typing import NamedTuple

from operators.decoding.acceptance import Acceptance
from operators.decoding.drafter import Draft
from operators.decoding.forward import Logits, best_tokens
from operators.decoding.tree import ROOT, TokenTree


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


def verify(begin: int, draft: Draft, rows: Logits) -> Verified:
    """Compare a draft with the model's rows; the first row judges what follows the known tokens.

    If a tree has more nodes than rows, only the first nodes are judged.
    """
    judged = len(rows) - 1 + draft.left_out
    if judged < draft.tree.size:
        draft = draft.only(range(judged))
    # All argmaxes in one call: a row costs little beside its pass.
    choices = best_tokens(rows)
    if draft.tree.is_chain:
        path: Sequence[int] = range(draft.acceptance.stood(rows, choices, draft.tokens))
    else:
        path = _walk(draft.tree, rows, choices, draft.acceptance)
    return Verified(begin, draft, path, choices, rows)


def _walk(tree: TokenTree, rows: Logits, choices: Sequence[int], rule: Acceptance) -> list[int]:
    """From each node to the child that is the model's choice, else to the first that the rule accepts."""
    path: list[int] = []
    node = ROOT
    while True:
        best = choices[node + 1]
        following = tree.child(node, best)
        if following is None:
            others = tree.children(node)
            stand = (one for one in others if rule.accepts(rows[node + 1], best, tree.tokens[one]))
            following = next(stand, None)
        if following is None:
            return path
        path.append(following)
        node = following
