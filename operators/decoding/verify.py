"""How much of a draft is accepted in the pass that verified it."""

from collections.abc import Sequence

from operators.decoding.acceptance import Acceptance
from operators.decoding.drafts import Draft, Verified
from operators.decoding.forward import Logits, best_tokens
from operators.decoding.tree import ROOT, TokenTree


def verify(begin: int, draft: Draft, rows: Logits) -> Verified:
    """Compare a draft with the model's rows; the first row judges the token after the known tokens.

    If a tree has more nodes than rows, only the first nodes are judged.
    """
    judged = len(rows) - 1 + draft.left_out
    if judged < draft.tree.size:
        draft = draft.only(range(judged))
    # All argmaxes in one call: a row costs little compared with its pass.
    choices = best_tokens(rows)
    if draft.tree.is_chain:
        path: Sequence[int] = range(draft.acceptance.accepted_length(rows, choices, draft.tokens))
    else:
        path = _walk(draft.tree, rows, choices, draft.acceptance)
    return Verified(begin, draft, path, choices, rows)


def _walk(tree: TokenTree, rows: Logits, choices: Sequence[int], rule: Acceptance) -> list[int]:
    """From each node, go to the child that is the model's choice, else to the first that the rule accepts."""
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
