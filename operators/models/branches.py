"""A tree of continuations in a KV cache of numbered sequences: each branch has a sequence of its own.

A cell of the cache may belong to several sequences. Existing cells are shared by copying sequence numbers,
not cells (`llama_memory_seq_cp`). A new token that several branches share belongs to all of their sequences
(`n_seq_id` of a llama_batch). So a whole tree is one pass, and each node sees only its own path (tree
attention). A `BranchingSession` answers requests for trees from it.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from operators.decoding.forward import NO_ROWS, Forward, Logits, TreeForward
from operators.decoding.session import Keeping, KvCache, PrefixSession
from operators.decoding.tree import ROOT, TokenTree
from operators.trouble import NoRoom


class Placed(NamedTuple):
    """A token of a pass."""

    token: int
    position: int
    #: The sequences to which it belongs, its own one last.
    sequences: Sequence[int]


class BranchStore(Protocol):
    """What branches need from a model's cache."""

    #: Maximum number of tokens in one pass.
    largest_pass: int

    def copy_part(self, source: int, target: int, start: int, end: int) -> None:
        """Let ``target`` hold what ``source`` holds from position ``start`` up to ``end``."""
        ...

    def cut_sequence(self, sequence: int, length: int) -> None:
        """Drop what ``sequence`` holds from position ``length`` on."""
        ...

    def evaluate_placed(self, placed: Sequence[Placed], rows: int) -> Logits:
        """Append tokens, at consecutive positions of each sequence; logits of the last ``rows``."""
        ...


class Branches:
    """The branches next to one sequence, in sequences borrowed from ``spare``."""

    def __init__(self, store: BranchStore, trunk: int, spare: Sequence[int]) -> None:
        self._store = store
        self._trunk = trunk
        self._spare = spare
        # The sequence of each node in the cache.
        self._of: list[int] = []
        self._root = 0
        self._tree = TokenTree()

    def fitting(self, tree: TokenTree, held: int, tokens: int) -> TokenTree:
        """The first nodes of ``tree``, as many as there are sequences and space in a pass for.

        ``held`` of them are in the cache already; so many ``tokens`` are in the same pass.
        """
        tree = tree.first(held + max(0, self._store.largest_pass - tokens))
        sequences = self._sequences(tree)
        return tree.first(next((node for node, one in enumerate(sequences) if one is None), tree.size))

    def place(self, tokens: Sequence[int], start: int, tree: TokenTree, held: int) -> list[Placed]:
        """What a pass must append for a tree from `fitting`; prepares the sequences for it."""
        self._root, self._tree = start + len(tokens), tree
        before, self._of = set(self._of), [one for one in self._sequences(tree) if one is not None]
        for node in range(held, tree.size):
            own = self._of[node]
            if own != self._trunk and own not in before:
                before.add(own)
                self._open(own, node, held, start)
        through = self._through(tree)
        all_of = tuple(dict.fromkeys([self._trunk, *self._of]))
        depths = tree.depths
        return [
            *(Placed(token, start + place, all_of) for place, token in enumerate(tokens)),
            *(
                Placed(tree.tokens[node], self._root + depths[node], through[node])
                for node in range(held, tree.size)
            ),
        ]

    def _sequences(self, tree: TokenTree) -> list[int | None]:
        """The sequence of each node.

        The first child continues its parent's sequence; others get a spare one.
        """
        sequences: list[int | None] = []
        spare = iter(self._spare)
        continued: set[int] = set()
        trunk = tree.trunk
        for node, parent in enumerate(tree.parents):
            own = self._trunk if node < trunk else None
            if own is None and parent >= trunk and parent not in continued:
                own = sequences[parent]
                continued.add(parent)
            elif own is None:
                own = next(spare, None)
            sequences.append(own)
        return sequences

    def _open(self, sequence: int, node: int, held: int, start: int) -> None:
        """Share the cached part of its path with a new branch."""
        path = [one for one in self._tree.path(node) if one < held]
        source = self._of[path[-1]] if path else self._trunk
        self._store.copy_part(source, sequence, 0, start + len(path))

    def _through(self, tree: TokenTree) -> list[tuple[int, ...]]:
        """The sequences that go through each node."""
        through: list[dict[int, None]] = [{own: None} for own in self._of]
        for node in reversed(range(tree.size)):
            parent = tree.parents[node]
            if parent != ROOT:
                through[parent] |= through[node]
        return [tuple(one) for one in through]

    def settle(self, path: Sequence[int]) -> None:
        """Make the trunk's sequence end with the nodes of ``path``, if one is off the trunk.

        Drops all branches.
        """
        off = next((place for place, node in enumerate(path) if self._of[node] != self._trunk), None)
        if off is not None:
            self._store.cut_sequence(self._trunk, self._root + off)
            end = self._root + len(path)
            self._store.copy_part(self._of[path[-1]], self._trunk, self._root + off, end)
        self.forget()

    def forget(self) -> None:
        """Drop all branches."""
        for sequence in dict.fromkeys(self._of):
            if sequence != self._trunk:
                self._store.cut_sequence(sequence, 0)
        self._of, self._tree = [], TokenTree()


class BranchingSequence:
    """One sequence of a store as the `TreeCache` of a session."""

    def __init__(
        self,
        trunk: KvCache,
        number: int,
        store: BranchStore,
        spare: Sequence[int],
        make_room: Callable[[int], None],
    ) -> None:
        """``trunk`` is sequence ``number`` of ``store``; ``make_room`` drops all sequences but that one."""
        self._trunk = trunk
        self.number = number
        self._store = store
        self._branches = Branches(store, number, spare)
        self._make_room = make_room

    def cut(self, length: int) -> int:
        """Drop every position from ``length`` on, and all branches; return how many are left."""
        self._branches.forget()
        return self._trunk.cut(length)

    def evaluate(self, tokens: Sequence[int], start: int, rows: int) -> Logits:
        """Append ``tokens`` at position ``start``; return the logits of the last ``rows`` of them."""
        return self._trunk.evaluate(tokens, start, rows)

    def settle(self, path: Sequence[int]) -> None:
        """Drop all branches except the one that ``path`` goes through."""
        self._branches.settle(path)

    def evaluate_tree(
        self, tokens: Sequence[int], start: int, tree: TokenTree, held: int, rows: int
    ) -> tuple[int, Logits]:
        """Append ``tokens`` and the nodes of ``tree`` from ``held`` on, as many as fit, in one pass.

        The part of a long prompt that does not fit into the pass of the tree is evaluated before it.
        """
        judged = max(0, rows - tree.size)
        lead = min(len(tokens) - judged, len(tokens) + tree.size - held - self._store.largest_pass)
        if lead > 0:
            self.evaluate(tokens[:lead], start, 1)
            tokens, start = tokens[lead:], start + lead
        fitting = self._branches.fitting(tree, held, len(tokens))
        if not tokens and fitting.size == held:
            return held, NO_ROWS
        rows -= tree.size - fitting.size
        try:
            logits = self._evaluate(tokens, start, fitting, held, max(1, rows))
        except BaseException:
            self._branches.forget()
            raise
        return fitting.size, logits if rows > 0 else NO_ROWS

    def _evaluate(self, tokens: Sequence[int], start: int, tree: TokenTree, held: int, rows: int) -> Logits:
        try:
            return self._store.evaluate_placed(self._branches.place(tokens, start, tree, held), rows)
        except NoRoom:
            if not tree.first(held).is_chain:
                raise
            self._make_room(self.number)
            # Part of the failed pass may be in the cache.
            self.cut(start + held)
            return self._store.evaluate_placed(self._branches.place(tokens, start, tree, held), rows)


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
