"""The rejected rest of a draft, and where a new one meets it (draft recycling; SpecASR, section IV-B).

After a rejection the rest of the draft is kept as a branch. New tokens are compared with it at the same and
at adjacent places; where one matches, the branches merge, and the rest of the old one is drafted again
without a step of the draft model.
"""

from typing import NamedTuple

from operators.decoding.drafts import Verified
from operators.decoding.tree import ROOT, TokenTree
from operators.research.prediction import Step
from operators.research.tree_draft import tree_of

#: Where a token is searched for: at its own place first, then one later and one earlier in the branch.
_SHIFTS = (0, 1, -1)


class Rest(NamedTuple):
    """Tokens of a branch that may be reused."""

    #: Place of the first one in the output.
    place: int = 0
    steps: tuple[Step, ...] = ()
    #: Whether the model would not continue after them: it was unsure there, or predicted the end.
    is_whole: bool = False

    def after(self, place: int, token: int) -> "Rest | None":
        """What follows ``token`` of a new output's ``place``.

        None if the branch does not have it there.
        """
        for shift in _SHIFTS:
            number = place - self.place + shift
            if 0 <= number < len(self.steps) and self.steps[number].token == token:
                return Rest(place + 1, self.steps[number + 1 :], self.is_whole)
        return None


def rejected(verified: Verified, steps: tuple[Step, ...] | None, *, is_whole: bool) -> Rest:
    """The rest of a draft from its first rejected token on; ``steps`` are its nodes, if predicted.

    Of several branches the one drafted first counts. If a branch was accepted to its end, the rest is what
    the trunk has at the places after it.
    """
    tree = tree_of(verified.draft)
    nodes = _line(tree, verified.path[-1] if verified.path else ROOT) or [
        *range(verified.accepted_length, tree.trunk)
    ]
    known = steps or tuple(Step(token) for token in tree.tokens)
    return Rest(verified.begin + verified.accepted_length, tuple(known[node] for node in nodes), is_whole)


def _line(tree: TokenTree, node: int) -> list[int]:
    """The nodes after ``node``, at each the first child."""
    line: list[int] = []
    while children := tree.children(node):
        node = children[0]
        line.append(node)
    return line
