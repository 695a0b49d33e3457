"""What a draft model predicts, token after token with its probability, and what of it is drafted again.

After a rejection the rest of the draft is kept as a branch (draft recycling; SpecASR, section IV-B). New
tokens are compared with it at the same and at adjacent places; where one matches, the branches merge, and
the rest of the old one is drafted again without a step of the draft model.
"""

from collections.abc import Container, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from operators.decoding.acceptance import EXACT, Acceptance
from operators.decoding.drafts import Draft, Verified
from operators.decoding.forward import Logits, Origin, Request, Task, TreeForward, best_tokens
from operators.decoding.tree import MAX_NODES, ROOT, TokenTree


class TreeDraft(Draft, frozen=True):
    """The nodes of a tree; without branches, a usual draft."""

    parents: tuple[int, ...] = ()
    #: The source of each token, if the sources differ.
    origins: tuple[Origin, ...] = ()

    @property
    def tree(self) -> TokenTree:
        """The tree of all nodes."""
        return TokenTree(self.tokens, self.parents)

    @override
    def origin_of(self, node: int) -> Origin:
        return self.origins[node] if self.origins else self.origin

    @override
    def within(self, room: int, stop: Container[int]) -> Draft:
        nodes: list[int] = []
        there = {ROOT}
        for node, depth in enumerate(self.tree.depths):
            if self.parents[node] in there and depth < room and self.tokens[node] not in stop:
                nodes.append(node)
                there.add(node)
        return self._only(nodes)

    @override
    def request(self, task: Task, output: Sequence[int]) -> Request:
        if self.tree.is_chain:
            return Draft.request(self, task, output)
        tokens = [*task.prompt, *output]
        return TreeForward(tokens, self.tree, len(tokens) - 1, len(task.prompt), task.kept)

    @override
    def verified(self, begin: int, rows: Logits) -> Verified:
        """If there are more nodes than rows, only the first nodes are judged."""
        judged = self._only(range(min(len(self.tokens), len(rows) - 1)))
        if judged.tree.is_chain:
            return Draft.verified(judged, begin, rows)
        choices = best_tokens(rows)
        return Verified(begin, judged, judged._walk(rows, choices), choices, rows)

    def _only(self, nodes: Sequence[int]) -> "TreeDraft":
        """The draft restricted to ``nodes``, which must contain the parents of all its members."""
        if len(nodes) == len(self.tokens):
            return self
        numbers = {ROOT: ROOT} | {node: number for number, node in enumerate(nodes)}
        return msgspec.structs.replace(
            self,
            tokens=tuple(self.tokens[node] for node in nodes),
            parents=tuple(numbers[self.parents[node]] for node in nodes),
            origins=tuple(self.origins[node] for node in nodes) if self.origins else (),
        )

    def _walk(self, rows: Logits, choices: Sequence[int]) -> list[int]:
        """From each node, go to the child that is the model's choice, else to the first that is accepted."""
        path: list[int] = []
        node, tree = ROOT, self.tree
        while True:
            best = choices[node + 1]
            following = tree.child(node, best)
            if following is None:
                accepts, row = self.acceptance.accepts, rows[node + 1]
                others = (one for one in tree.children(node) if accepts(row, best, tree.tokens[one]))
                following = next(others, None)
            if following is None:
                return path
            path.append(following)
            node = following


def tree_draft(tree: TokenTree, origins: Sequence[Origin] = (), acceptance: Acceptance = EXACT) -> TreeDraft:
    """The draft of a draft model's ``tree``."""
    return TreeDraft(tree.tokens, Origin.MODEL, acceptance, parents=tree.parents, origins=tuple(origins))


def tree_of(draft: Draft) -> TokenTree:
    """The tree of any draft."""
    return draft.tree if isinstance(draft, TreeDraft) else TokenTree.chain(draft.tokens)


class Prediction(msgspec.Struct, frozen=True, kw_only=True):
    """How a draft model drafts (SpecASR, Wei et al. 2025, section IV). The defaults are the authors' own."""

    #: Maximum number of tokens drafted at a time.
    length: int = 24
    #: A prediction ends with the first less probable token (adaptive single-sequence prediction, IV-A), which
    #: is included because its step is done and verifying it costs little. At 0 a prediction always has its
    #: full length, as in plain speculative decoding.
    threshold: float = 0.4
    #: Whether the rejected rest of a draft is reused where a new one meets it (draft recycling, IV-B).
    recycles: bool = True
    #: Number of improbable tokens at which the second most probable one is tried too (two-pass sparse tree,
    #: IV-C). The prediction ends with the next improbable one. 0 is a single sequence.
    branches: int = 0
    #: A branch that has not met the trunk after this many tokens ends.
    reach: int = 3
    #: Maximum number of nodes in a tree.
    nodes: int = MAX_NODES


class Step(NamedTuple):
    """One predicted token."""

    token: int
    #: Its probability: SpecASR's normalised logit.
    p: float = 1.0
    #: The second most probable token; None if it cannot be trusted.
    second: int | None = None
    p_second: float = 0.0


def predicted(row: NDArray[np.float32]) -> Step | None:
    """The most probable token of a row of logits.

    None if the logits are not finite. Overwrites the row.
    """
    best = int(row.argmax())
    top = float(row[best])
    if not np.isfinite(top):
        return None
    total = float(np.exp(row - top).sum())
    row[best] = -np.inf
    second = int(row.argmax())
    p_second = float(np.exp(row[second] - top)) / total
    return Step(best, 1.0 / total, second if p_second > 0.0 else None, p_second)


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
