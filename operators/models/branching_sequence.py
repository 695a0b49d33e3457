"""One sequence of a model's cache as the cache of a session that evaluates trees."""

from collections.abc import Callable, Sequence

from operators.decoding.drive import NO_ROWS
from operators.decoding.forward import Logits
from operators.decoding.session import KvCache
from operators.decoding.tree import TokenTree
from operators.models.branches import Branches, BranchStore
from operators.trouble import NoRoom


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
