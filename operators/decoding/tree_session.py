"""A session whose cache can hold a tree: several continuations of one sequence, evaluated in one pass."""

from collections.abc import Sequence
from typing import Protocol

from operators.decoding.forward import Forward, Logits, TreeForward
from operators.decoding.session import Keeping, KvCache, PrefixSession
from operators.decoding.tree import TokenTree


class TreeCache(KvCache, Protocol):
    """A `KvCache` that can temporarily hold branches next to its sequence.

    The trunk of a tree is part of the sequence itself. ``cut`` and ``evaluate`` are called only while there
    are no branches.
    """

    def evaluate_tree(
        self, tokens: Sequence[int], start: int, tree: TokenTree, held: int, rows: int
    ) -> tuple[int, Logits]:
        """Append ``tokens`` at position ``start``, then the nodes of ``tree`` from number ``held`` on.

        Earlier nodes are in the cache already: as the sequence's own last tokens, or from the last call with
        this ``start`` and no ``tokens`` since. Returns how many nodes, counted from the first, the cache then
        has, and the logits of those of the last ``rows`` given tokens and nodes that were evaluated.
        """
        ...

    def settle(self, path: Sequence[int]) -> None:
        """Drop all branches. If ``path`` has nodes off the trunk, it becomes the sequence's end instead."""
        ...


class BranchingSession(PrefixSession):
    """Answers requests for trees too, from a `TreeCache`."""

    def __init__(self, cache: TreeCache, held: Sequence[int] = (), keeping: Keeping | None = None) -> None:
        """Start with a cache that already holds the tokens ``held``; ``keeping`` has the same, if it can."""
        super().__init__(cache, held, keeping)
        self._branches = cache
        # The tree in the cache, and the position of its start; its trunk is the end of the held tokens.
        self._tree = TokenTree()
        self._root = 0

    def forward(self, request: Forward) -> Logits:
        """Answer ``request`` in one pass, continuing a branch if the request does."""
        self.settle(request.tokens)
        return super().forward(request)

    def forward_tree(self, request: TreeForward) -> Logits:
        """Answer ``request`` in one pass.

        Nodes for which the cache has no sequence are omitted at the end.
        """
        tokens, tree, logits_from = list(request.tokens), request.tree, request.logits_from
        length = len(tokens) + tree.size
        if not 0 <= logits_from < length:
            raise ValueError(f"logits_from {logits_from} is not a position of {length} tokens and nodes")
        held = self._held_nodes(tokens, tree, logits_from)
        if held is None:
            self.settle([*tokens, *tree.tokens[: tree.trunk]])
            held = self._cut(request)
        start = min(len(self._held), len(tokens))
        # A failed pass leaves no branches, and anything after the held tokens.
        self._failed, self._tree = True, TokenTree()
        there, logits = self._branches.evaluate_tree(tokens[start:], start, tree, held, length - logits_from)
        self._failed = False
        self.reused, self.kept = start + held, 0
        self._root, self._tree = len(tokens), tree.first(there)
        self._held = [*tokens, *self._tree.tokens[: self._tree.trunk]]
        self._output_from = request.output_from
        return logits

    def settle(self, tokens: Sequence[int] = ()) -> None:
        """Hold one sequence again: the one that matches ``tokens`` for longest, else the trunk."""
        if self._tree.is_chain:
            self._tree = TokenTree()
            return
        tree, root = self._tree, self._root
        path = tree.walk(tokens[root:]) if list(tokens[:root]) == self._held[:root] else []
        if path and path[-1] >= tree.trunk:
            self._held[root:] = [tree.tokens[node] for node in path]
        else:
            path = []
        self._tree = TokenTree()
        self._branches.settle(path)

    def _held_nodes(self, tokens: list[int], tree: TokenTree, logits_from: int) -> int | None:
        """How many nodes exist already, if the tree continues the one in the cache; else None."""
        held = self._tree.size
        is_same = held > 0 and tokens == self._held[: self._root] and tree.begins_with(self._tree)
        return held if is_same and not self._failed and len(tokens) + held <= logits_from else None

    def _cut(self, request: TreeForward) -> int:
        """Keep the part of the requested tokens and trunk that the sequence has; returns its nodes."""
        tree, root = request.tree, len(request.tokens)
        keep = self._usable_prefix([*request.tokens, *tree.tokens[: tree.trunk]], request)
        if keep < len(self._held) or self._failed:
            self._forget(self._cache.cut(keep))
        return max(0, len(self._held) - root)
