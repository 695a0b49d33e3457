"""Drafts of a model with another vocabulary, spelled again in the tokens of the main model.

The draft model predicts, recycles and branches in its own tokens (SpecASR, Wei et al. 2025, drafts between
models of one vocabulary). Here only the text counts: the bytes of each path of its tree are tokenised again,
and the model is told which of its own tokens spell what the pass accepted.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from operators.decoding.drafts import Draft, Drafter, Drafting, Verified
from operators.decoding.forward import NO_ROWS, Origin
from operators.decoding.tree import ROOT, GrowingTree, TokenTree
from operators.research.prediction import tree_draft, tree_of


class Spelling(Protocol):
    """A vocabulary: the bytes of its tokens, and the tokens of bytes."""

    def piece(self, token: int) -> bytes:
        """The bytes that a token stands for."""
        ...

    def tokenize(self, text: bytes) -> list[int]:
        """The tokens of a text; their bytes joined are the text again."""
        ...


class _Offered(NamedTuple):
    """What the draft model drafted last, in its own tokens."""

    begin: int
    draft: Draft


class Respelled:
    """A drafter whose tokens are those of another vocabulary.

    Args:
        drafter: Made for the task in the draft model's own tokens.
        own: The draft model's vocabulary.
        model: The vocabulary of the model that verifies.
    """

    def __init__(self, drafter: Drafter, own: Spelling, model: Spelling) -> None:
        self._drafter = drafter
        self._own = own
        self._model = model
        self._offered: _Offered | None = None

    def learn(self, verified: Verified) -> None:
        """Tell the drafter what became of its last draft; it learns nothing about others' drafts."""
        offered, self._offered = self._offered, None
        if offered is None or verified.own is None:
            return
        stood = _text(self._model, (verified.draft.tokens[node] for node in verified.path))
        tree = tree_of(offered.draft)
        path = _spelled(tree, [self._own.piece(token) for token in tree.tokens], stood)
        # It uses neither choices nor rows: both would be in tokens that it does not have.
        self._drafter.learn(Verified(offered.begin, offered.draft, path, [-1] * (tree.size + 1), NO_ROWS))

    def draft(self, output: Sequence[int]) -> Drafting:
        """What the drafter has to offer after the text of ``output``."""
        known = self._own.tokenize(_text(self._model, output))
        draft = yield from self._drafter.draft(known)
        if draft is None:
            return None
        self._offered = _Offered(len(known), draft)
        growing, stepped = GrowingTree(), set[int]()
        for path in _paths(tree_of(draft)):
            ends = np.cumsum([len(self._own.piece(draft.tokens[node])) for node in path])
            text = _text(self._own, (draft.tokens[node] for node in path))
            node, end = ROOT, 0
            for token in self._tokens_after(output, text):
                node, begin, end = growing.add(node, token), end, end + len(self._model.piece(token))
                # A step whose token ends in this one was effective.
                inside = [one for one, its_end in zip(path, ends, strict=True) if begin < its_end <= end]
                if any(draft.origin_of(one) is Origin.MODEL for one in inside):
                    stepped.add(node)
        origins = (Origin.MODEL if node in stepped else Origin.RECYCLED for node in range(growing.size))
        return tree_draft(growing.tree, tuple(origins)) if growing.size else None

    def _tokens_after(self, output: Sequence[int], text: bytes) -> list[int]:
        """The tokens of ``text`` after ``output``.

        These are the tokens that the whole text has there. If the whole text differs before that place,
        because the model split a word in its own way, ``text`` is tokenised alone.
        """
        whole = self._model.tokenize(_text(self._model, output) + text)
        if whole[: len(output)] == list(output):
            return whole[len(output) :]
        return self._model.tokenize(text)


def _text(spelling: Spelling, tokens: Iterable[int]) -> bytes:
    return b"".join(map(spelling.piece, tokens))


def _paths(tree: TokenTree) -> list[list[int]]:
    """The paths from the root to each leaf, the trunk first."""
    leaves = set(range(tree.size)) - set(tree.parents)
    paths = [tree.path(leaf) for leaf in sorted(leaves)]
    return sorted(paths, key=lambda path: path[-1] != tree.trunk - 1)


def _spelled(tree: TokenTree, pieces: Sequence[bytes], text: bytes) -> list[int]:
    """The longest path of nodes whose bytes are a prefix of ``text``."""
    paths = ([*range(0)], *(tree.path(node) for node in range(tree.size)))
    fitting = (path for path in paths if text.startswith(b"".join(pieces[node] for node in path)))
    return max(fitting, key=len)
