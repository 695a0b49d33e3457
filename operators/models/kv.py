"""Numbered sequences that share the cells of one KV cache, and the session that answers from one of them.

A cell of the cache may belong to several sequences. Existing cells are shared by copying sequence numbers,
not cells (`llama_memory_seq_cp`), and a new token may belong to several sequences (`n_seq_id` of a
llama_batch). So the hypotheses of a beam search and the branches of a tree of drafts cost only their own
tokens, and each of them sees only its own path (tree attention).
"""

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from operators.decoding.forward import NO_ROWS, BeamForward, Forward, Logits, ModelRequest, TreeForward
from operators.decoding.session import PrefixSession, check_position
from operators.decoding.tree import ROOT, TokenTree
from operators.model_errors import CacheFullError, ModelError
from operators.text import common_prefix


class Part(NamedTuple):
    #: The sequences that the tokens are appended to.
    sequences: Sequence[int]
    tokens: Sequence[int]
    #: Position of the first token.
    start: int
    #: How many tokens at the end need logits.
    rows: int


class SequenceStore(Protocol):
    """Numbered sequences of one model in one memory."""

    #: Maximum number of tokens in a pass over several sequences; 0 if there are no such passes.
    largest_pass: int

    def copy_sequence(self, source: int, target: int) -> None:
        """Copy the content of ``source`` into the empty sequence ``target``."""
        ...

    def copy_part(self, source: int, target: int, start: int, end: int) -> None:
        """Let ``target`` also hold the tokens of ``source`` from position ``start`` up to ``end``."""
        ...

    def shift(self, sequence: int, start: int, end: int, by: int) -> None:
        """Add ``by`` to the positions from ``start`` up to ``end``, which belong to ``sequence`` alone."""
        ...

    def cut_sequence(self, sequence: int, length: int) -> None:
        """Forget the tokens of ``sequence`` from position ``length`` on.

        Cutting at 0 always works. Raises `ModelError` if the memory cannot be cut at ``length``.
        """
        ...

    def evaluate(self, sequence: int, tokens: Sequence[int], start: int, rows: int) -> Logits:
        """Append ``tokens`` to ``sequence`` at ``start``; return the logits of the last ``rows`` tokens."""
        ...

    def evaluate_parts(self, parts: Sequence[Part]) -> list[Logits]:
        """Append each part to its sequences in one pass, in order; the logits that each part requests.

        Together they have at most `largest_pass` tokens. All logits are valid until the next pass. Raises
        `ModelError` if the model fails; any of the parts may be in the memory then.
        """
        ...


class _ParkedCells:
    """Holds tokens of a session in a spare sequence until the tokens before them have been evaluated.

    llama.cpp appends to a sequence only at its end. So when the source grows, the kept tokens of the output
    move here, the source is appended, and they come back after it at new positions. Sequences share cells, so
    nothing is copied; the keys are rotated with the next pass (RoPE; Su et al. 2021, section 3.2).
    """

    def __init__(self, store: SequenceStore, trunk: int, number: int) -> None:
        self._store, self._trunk, self._number = store, trunk, number
        self._held = (0, 0)

    def take(self, begin: int, end: int) -> None:
        """Hold the trunk's tokens from position ``begin`` up to ``end``; the caller cuts the trunk."""
        self._store.copy_part(self._trunk, self._number, begin, end)
        self._held = begin, end

    def put_back(self, start: int) -> None:
        begin, end = self._held
        self._store.shift(self._number, begin, end, start - begin)
        self._store.copy_part(self._number, self._trunk, start, start + end - begin)
        self.forget()

    def forget(self) -> None:
        if self._held != (0, 0):
            self._store.cut_sequence(self._number, 0)
            self._held = 0, 0


class _Beams:
    """Alternative continuations of a sequence, for a beam search."""

    def __init__(self, store: SequenceStore, trunk: int, own: Sequence[int]) -> None:
        """``trunk`` is the sequence that they continue; ``own`` are their own sequences, all empty."""
        self._store, self._trunk, self._own = store, trunk, own
        #: Maximum number of continuations.
        self.most = len(own)
        # The sequence of each continuation, and the length of the trunk.
        self._held: dict[tuple[int, ...], int] = {}
        self._start = 0

    def unknown(self, paths: Sequence[tuple[int, ...]]) -> int:
        return sum(len(path) - _known(self._held, path) for path in paths)

    def place(self, start: int, paths: Sequence[tuple[int, ...]]) -> list[Part]:
        """The parts that a pass must append, one per path; held paths that none continues are dropped."""
        parents = {path[:-1] for path in paths}
        for path in [one for one in self._held if one not in parents]:
            self._store.cut_sequence(self._held.pop(path), 0)
        before, self._start = self._held, start
        free = iter([one for one in self._own if one not in before.values()])
        self._held, continued, parts = {}, set[int](), list[Part]()
        for path in paths:
            source = before.get(path[:-1], self._trunk)
            known = _known(before, path)
            if source == self._trunk or source in continued:
                own = next(free)
                self._store.copy_sequence(source, own)
            else:
                own = source
            continued.add(source)
            self._held[path] = own
            parts.append(Part((own,), path[known:], start + known, 1))
        return parts

    def settle(self, tokens: Sequence[int]) -> int:
        """Append the best continuation's part of ``tokens`` to the trunk, drop all; return its length."""
        grown = 0
        if self._held:
            wanted = tuple(tokens)
            best = max(self._held, key=lambda path: common_prefix(path, wanted))
            grown = common_prefix(best, wanted)
            if grown:
                self._store.cut_sequence(self._trunk, 0)
                self._store.copy_sequence(self._held[best], self._trunk)
                self._store.cut_sequence(self._trunk, self._start + grown)
        self.forget()
        return grown

    def forget(self) -> None:
        for sequence in self._held.values():
            self._store.cut_sequence(sequence, 0)
        self._held = {}


def _known(held: Collection[tuple[int, ...]], path: tuple[int, ...]) -> int:
    return len(path) - 1 if path[:-1] in held else 0


class _Branches:
    """A tree of continuations of one sequence, in sequences borrowed from ``spare``.

    The trunk of the tree is part of the sequence itself.
    """

    def __init__(self, store: SequenceStore, trunk: int, spare: Sequence[int]) -> None:
        self._store, self._trunk, self._spare = store, trunk, spare
        # The sequence of each node in the cache.
        self._of: list[int] = []
        self._root = 0

    def fitting(self, tree: TokenTree, most: int) -> TokenTree:
        """The first nodes of ``tree``, limited by ``most`` and by the number of sequences."""
        tree = tree.first(most)
        sequences = self._sequences(tree)
        return tree.first(next((node for node, one in enumerate(sequences) if one is None), tree.size))

    def place(self, tokens: Sequence[int], start: int, tree: TokenTree, held: int, rows: int) -> list[Part]:
        """The parts that a pass must append for ``tokens`` and a tree from `fitting`; prepares the sequences.

        The first ``held`` nodes are in the cache already; the last ``rows`` tokens and nodes need logits.
        """
        self._root = start + len(tokens)
        before, self._of = set(self._of), [one for one in self._sequences(tree) if one is not None]
        for node in range(held, tree.size):
            own = self._of[node]
            if own != self._trunk and own not in before:
                before.add(own)
                path = [one for one in tree.path(node) if one < held]
                source = self._of[path[-1]] if path else self._trunk
                self._store.copy_part(source, own, 0, start + len(path))
        through, depths = self._through(tree), tree.depths
        parts = [
            Part(
                through[node],
                (tree.tokens[node],),
                self._root + depths[node],
                rows=int(tree.size - node <= rows),
            )
            for node in range(held, tree.size)
        ]
        if tokens:
            all_of = tuple(dict.fromkeys([self._trunk, *self._of]))
            parts.insert(0, Part(all_of, tokens, start, max(0, rows - len(parts))))
        return parts

    def _sequences(self, tree: TokenTree) -> list[int | None]:
        """The sequence of each node: a first child continues its parent's, others get a spare one."""
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

    def _through(self, tree: TokenTree) -> list[tuple[int, ...]]:
        through: list[dict[int, None]] = [{own: None} for own in self._of]
        for node in reversed(range(tree.size)):
            parent = tree.parents[node]
            if parent != ROOT:
                through[parent] |= through[node]
        return [tuple(one) for one in through]

    def settle(self, path: Sequence[int]) -> None:
        """Make the trunk's sequence end with the nodes of ``path``, and drop all branches."""
        off = next((place for place, node in enumerate(path) if self._of[node] != self._trunk), None)
        if off is not None:
            self._store.cut_sequence(self._trunk, self._root + off)
            end = self._root + len(path)
            self._store.copy_part(self._of[path[-1]], self._trunk, self._root + off, end)
        self.forget()

    def forget(self) -> None:
        for sequence in dict.fromkeys(self._of):
            if sequence != self._trunk:
                self._store.cut_sequence(sequence, 0)
        self._of = []


class KvSequence:
    """One numbered sequence as the `KvCache` of a session, with its beams, branches and parked tokens."""

    def __init__(
        self,
        store: SequenceStore,
        number: int,
        make_room: Callable[[int], bool],
        *,
        parked: int | None = None,
        beams: Sequence[int] = (),
        spare: Sequence[int] = (),
    ) -> None:
        """An empty sequence ``number`` of ``store``.

        Args:
            make_room: Drops some sequences, but not the one with that number; returns whether there were any.
            parked: The sequence for parked tokens; None if the store cannot move tokens.
            beams: Sequences of its own for a beam search.
            spare: Sequences for the branches of a tree, shared with `KvSequence`s that have no branches.
        """
        self.store = store
        self.number = number
        self._make_room = make_room
        self.parked = None if parked is None else _ParkedCells(store, number, parked)
        self.beams = _Beams(store, number, beams)
        self.branches = _Branches(store, number, spare)
        self._head, self._head_tokens, self._holds_head = 0, 0, False

    def begin(self, head: int, tokens: int) -> None:
        self._head, self._head_tokens, self._holds_head = head, tokens, True
        self._take_head()

    def clear(self) -> None:
        self.beams.forget()
        self.cut(0)

    def cut(self, length: int) -> int:
        """Drop every position from ``length`` on, branches and parked tokens; return how many are left."""
        self.branches.forget()
        if self.parked is not None:
            self.parked.forget()
        return self.truncate(length)

    def truncate(self, length: int) -> int:
        """Drop every position from ``length`` on; return how many are left."""
        self._holds_head = self._holds_head and length >= self._head_tokens
        try:
            self.store.cut_sequence(self.number, length)
        except ModelError:
            # A recurrent layer holds one state for all tokens, so all after the head are evaluated again.
            self.store.cut_sequence(self.number, 0)
            return self._take_head() if self._holds_head else 0
        return length

    def _take_head(self) -> int:
        if self._head_tokens:
            self.store.copy_sequence(self._head, self.number)
        return self._head_tokens

    def evaluate(self, tokens: Sequence[int], start: int, rows: int) -> Logits:
        while True:
            try:
                return self.store.evaluate(self.number, tokens, start, rows)
            except CacheFullError:
                # Part of the pass may already be in the cache.
                if not self._make_room(self.number) or self.truncate(start) < start:
                    raise

    def evaluate_tree(
        self, tokens: Sequence[int], start: int, tree: TokenTree, held: int, rows: int
    ) -> tuple[int, Logits]:
        """Append ``tokens`` and the nodes of ``tree`` from ``held`` on, as many as fit, in one pass.

        Earlier nodes are in the cache already: as the sequence's own last tokens, or from the last call with
        this ``start`` and no ``tokens`` since. If a long prompt does not fit into the pass of the tree, its
        first part is evaluated before.

        Returns:
            The number of nodes, from the first on, that the cache then has, and the logits of the evaluated
            ones among the last ``rows`` tokens and nodes.
        """
        largest = self.store.largest_pass
        judged = max(0, rows - tree.size)
        lead = min(len(tokens) - judged, len(tokens) + tree.size - held - largest)
        if lead > 0:
            self.evaluate(tokens[:lead], start, 1)
            tokens, start = tokens[lead:], start + lead
        fitting = self.branches.fitting(tree, held + max(0, largest - len(tokens)))
        if not tokens and fitting.size == held:
            return held, NO_ROWS
        rows -= tree.size - fitting.size
        while True:
            try:
                parts = self.branches.place(tokens, start, fitting, held, max(1, rows))
                logits = np.concatenate(self.store.evaluate_parts(parts))
            except ModelError as error:
                # Held nodes off the trunk would be lost, and cannot be evaluated again.
                may_retry = isinstance(error, CacheFullError) and fitting.first(held).is_chain
                if not may_retry or not self._make_room(self.number):
                    self.branches.forget()
                    raise
                self.cut(start + held)
            else:
                return fitting.size, logits if rows > 0 else NO_ROWS


class KvSession(PrefixSession):
    """Answers requests from a `KvSequence`, also those of a beam search.

    If the request and the sequence allow it, tokens of the output are kept after a changed prompt: the prompt
    is evaluated in one pass, then these tokens move after it, and the rest is evaluated in another pass.
    Sessions may share passes: then each request is answered by `begin`, `parts` and `end`.
    """

    def __init__(self, sequence: KvSequence, head: Sequence[int], least_kept: int = 1) -> None:
        """Start with a sequence that holds ``head``.

        Fewer tokens than ``least_kept`` are evaluated and not kept, because the prompt would need a pass of
        its own. For sessions that share this pass, their sum counts.
        """
        super().__init__(sequence, head)
        self.sequence = sequence
        #: Length of the head, whose cells are shared with other sessions.
        self.shared = len(head)
        self._least_kept = least_kept
        # Where the output begins in the held tokens, and the end of those computed after another prompt.
        self._output_from = self._stale_end = 0

    def size(self, request: Forward | BeamForward, *, keeps: bool | None = None) -> int:
        """Number of tokens to evaluate in order to answer ``request``; ``keeps`` is as in `begin`."""
        tokens = list(request.tokens)
        if isinstance(request, BeamForward):
            unknown = self.sequence.beams.unknown(request.paths)
            return len(tokens) - self._usable_prefix(tokens, request) + unknown
        self._settle_beams(request)
        prefix = self._usable_prefix(tokens, request)
        return len(tokens) - prefix - self._moved(tokens, request, prefix, keeps)

    def movable(self, request: Forward | BeamForward) -> int:
        """Number of tokens that could be kept after a changed prompt, however few."""
        if isinstance(request, BeamForward):
            return 0
        self._settle_beams(request)
        tokens = list(request.tokens)
        return self._moved(tokens, request, self._usable_prefix(tokens, request), keeps=True)

    def forward(self, request: Forward) -> Logits:
        self._evaluate_lead(request)
        (part,) = self.parts(request)
        logits = self.sequence.evaluate(part.tokens, part.start, part.rows)
        self.end(request)
        return logits

    def forward_beams(self, request: BeamForward) -> Logits:
        if len(request.paths) > self.sequence.beams.most:
            return NO_ROWS
        try:
            self._evaluate_lead(request)
            rows = np.concatenate(self.sequence.store.evaluate_parts(self.parts(request)))
        except CacheFullError:
            self.sequence.beams.forget()
            return NO_ROWS
        self.end(request)
        return rows

    def _evaluate_lead(self, request: Forward | BeamForward) -> None:
        if (lead := self.begin(request)) is not None:
            self.sequence.evaluate(lead.tokens, lead.start, 0)

    def begin(self, request: Forward | BeamForward, *, keeps: bool | None = None) -> Part | None:
        """Cut the sequence, and return the part to append before `parts`; None if there is none.

        If appending fails, the next request may still begin normally. ``keeps`` decides whether tokens move
        after a changed prompt; by default they do if they are enough to pay for a pass of the prompt.
        """
        tokens = list(request.tokens)
        if isinstance(request, BeamForward):
            return self._begin_beams(request, tokens)
        check_position(request.logits_from, len(tokens))
        self._settle_beams(request)
        prefix = self._usable_prefix(tokens, request)
        self.kept = self._moved(tokens, request, prefix, keeps)
        if self.kept:
            assert self.sequence.parked is not None, "only parked tokens move"
            self.sequence.parked.take(self._output_from, self._output_from + self.kept)
            self.sequence.truncate(prefix)
            self._forget(prefix)
        else:
            prefix = self._cut(prefix)
        self._failed = True
        self.reused = prefix + self.kept
        return self._part(tokens[prefix : request.output_from], prefix) if self.kept else None

    def _begin_beams(self, request: BeamForward, tokens: list[int]) -> Part | None:
        beams = self.sequence.beams
        if self._failed or tokens != self._held:
            beams.forget()
        prefix = self._cut(self._usable_prefix(tokens, request))
        self._failed = True
        self.reused, self.kept = prefix - beams.unknown(request.paths) + len(request.paths), 0
        return self._part(tokens[prefix:], prefix) if prefix < len(tokens) else None

    def parts(self, request: Forward | BeamForward) -> list[Part]:
        """The parts that a pass must append to answer ``request``, after the part that `begin` returned."""
        if isinstance(request, BeamForward):
            return self.sequence.beams.place(len(request.tokens), request.paths)
        start = self.reused
        if self.kept and self.sequence.parked is not None:
            self.sequence.parked.put_back(request.output_from)
            start = self._stale_end = request.output_from + self.kept
        return [self._part(request.tokens[start:], start, len(request.tokens) - request.logits_from)]

    def _part(self, tokens: Sequence[int], start: int, rows: int = 0) -> Part:
        return Part((self.sequence.number,), tokens, start, rows)

    def end(self, request: Forward | BeamForward) -> None:
        self._failed = False
        self._held = list(request.tokens)
        self._output_from = request.output_from

    def _settle_beams(self, request: Forward) -> None:
        """Hold one sequence again, with the prefix that ``request`` shares with a held continuation."""
        beams = self.sequence.beams
        if self._failed:
            beams.forget()
        elif beams.most:
            after = list(request.tokens[request.output_from + len(self._held) - self._output_from :])
            self._held += after[: beams.settle(after)]

    def _forget(self, length: int) -> None:
        super()._forget(length)
        self._stale_end = min(self._stale_end, length)

    def _usable_prefix(self, tokens: Sequence[int], request: ModelRequest) -> int:
        """The reusable prefix; the request limits how much of it was computed after another prompt."""
        prefix = super()._usable_prefix(tokens, request)
        allowed = request.output_from + request.kept
        if prefix > self._output_from and allowed < self._stale_end:
            prefix = min(prefix, max(allowed, self._output_from))
        return prefix

    def _moved(self, tokens: Sequence[int], request: Forward, prefix: int, keeps: bool | None) -> int:
        """How many tokens of the output move after the changed prompt."""
        start, begin = request.output_from, self._output_from
        most = min(request.kept, request.logits_from - start)
        can_move = self.sequence.parked is not None and not self._failed and keeps is not False
        if not can_move or begin == 0 or prefix >= start or most <= 0:
            return 0
        moved = common_prefix(self._held[begin : begin + most], tokens[start : start + most])
        return 0 if keeps is None and moved < self._least_kept else moved


class KvTreeSession(KvSession):
    """A `KvSession` that also answers requests for trees."""

    # The tree in the cache, and the position of its start; its trunk is the end of the held tokens.
    _tree = TokenTree()
    _root = 0

    def forward(self, request: Forward) -> Logits:
        """Answer ``request`` in one pass, continuing a branch if the request does."""
        self.settle(request.tokens)
        return super().forward(request)

    def forward_tree(self, request: TreeForward) -> Logits:
        """Answer ``request`` in one pass.

        Nodes for which there is no sequence are omitted at the end.
        """
        tokens, tree, logits_from = list(request.tokens), request.tree, request.logits_from
        length = len(tokens) + tree.size
        check_position(logits_from, length)
        held = self._held_nodes(tokens, tree, logits_from)
        if held is None:
            known = [*tokens, *tree.tokens[: tree.trunk]]
            self.settle(known)
            held = max(0, self._cut(self._usable_prefix(known, request)) - len(tokens))
        start = min(len(self._held), len(tokens))
        # A failed pass leaves no branches, but may leave anything after the held tokens.
        self._failed, self._tree = True, TokenTree()
        there, logits = self.sequence.evaluate_tree(tokens[start:], start, tree, held, length - logits_from)
        self._failed = False
        self.reused, self.kept = start + held, 0
        self._root, self._tree = len(tokens), tree.first(there)
        self._held = [*tokens, *self._tree.tokens[: self._tree.trunk]]
        self._output_from = request.output_from
        return logits

    def settle(self, tokens: Sequence[int] = ()) -> None:
        """Hold one sequence again: the path with the longest match of ``tokens``, else the trunk."""
        tree, root, self._tree = self._tree, self._root, TokenTree()
        if tree.is_chain:
            return
        path = tree.walk(tokens[root:]) if list(tokens[:root]) == self._held[:root] else []
        if path and path[-1] >= tree.trunk:
            self._held[root:] = [tree.tokens[node] for node in path]
        else:
            path = []
        self.sequence.branches.settle(path)

    def _held_nodes(self, tokens: list[int], tree: TokenTree, logits_from: int) -> int | None:
        """How many nodes exist already, if the tree continues the one in the cache; else None."""
        held = self._tree.size
        is_same = held > 0 and tokens == self._held[: self._root] and tree.begins_with(self._tree)
        return held if is_same and not self._failed and len(tokens) + held <= logits_from else None
