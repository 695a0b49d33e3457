"""A tree of continuations in a KV cache of numbered sequences: each branch has a sequence of its own.

A cell of the cache may belong to several sequences. Existing cells are shared by copying sequence numbers,
not cells (`llama_memory_seq_cp`). A new token that several branches share belongs to all of their sequences
(`n_seq_id` of a llama_batch). So a whole tree is one pass, and each node sees only its own path (tree
attention).
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from operators.decoding.drive import NO_ROWS
from operators.decoding.forward import Logits
from operators.decoding.session import KvCache
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
