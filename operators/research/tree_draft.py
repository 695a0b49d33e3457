"""Drafts with branches: one pass verifies several continuations (SpecInfer, Miao et al. 2024)."""

from collections.abc import Container, Sequence

import msgspec
from typing_extensions import override

from operators.decoding.acceptance import EXACT, Acceptance
from operators.decoding.drafts import Draft, Verified
from operators.decoding.forward import Logits, Origin, Request, Task, TreeForward, best_tokens
from operators.decoding.tree import ROOT, TokenTree


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
