"""Drafts of a model with another vocabulary, spelled again in the tokens of the main model.

SpecASR's models share a vocabulary (Wei et al. 2025); Whisper's English models and its multilingual ones do
not. Here only the text counts: the draft model predicts, recycles and branches in its own tokens, and the
bytes of each path of its tree are tokenised again.
"""

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Protocol

from operators.decoding.drafts import Draft, Drafter, Drafting, Verified
from operators.decoding.forward import NO_ROWS, Origin
from operators.decoding.tree import ROOT, TokenTree
from operators.research.tree_draft import Step, TreeBuilder, TreeDraft


class Spelling(Protocol):
    """A vocabulary: the bytes of its tokens, and the tokens of bytes."""

    def piece(self, token: int) -> bytes:
        """The bytes that a token stands for."""
        ...

    def tokenize(self, text: bytes) -> list[int]:
        """The tokens of a text."""
        ...


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
        # What the draft model drafted last, in its own tokens, and the number of tokens before that.
        self._offered: tuple[int, Draft] | None = None

    def learn(self, verified: Verified) -> None:
        """Tell the drafter what was accepted of its last draft; it learns nothing of others' drafts."""
        offered, self._offered = self._offered, None
        if offered is None or verified.own is None:
            return
        begin, draft = offered
        tree = _tree(draft)
        text = spelled(self._model, (verified.draft.tokens[node] for node in verified.path))
        paths = ([*range(0)], *map(tree.path, range(tree.size)))
        accepted = (path for path in paths if text.startswith(self._text(tree, path)))
        # It uses neither choices nor rows: both would be in tokens that it does not have.
        path = max(accepted, key=len)
        self._drafter.learn(Verified(begin, draft, path, [ROOT] * (tree.size + 1), NO_ROWS))

    def draft(self, output: Sequence[int]) -> Drafting:
        known = self._own.tokenize(spelled(self._model, output))
        draft = yield from self._drafter.draft(known)
        if draft is None:
            return None
        self._offered = len(known), draft
        tree, builder, stepped = _tree(draft), TreeBuilder(), set[int]()
        leaves = set(range(tree.size)) - set(tree.parents)
        # The trunk comes first.
        for path in map(tree.path, sorted(leaves, key=lambda leaf: (leaf != tree.trunk - 1, leaf))):
            ends = list(accumulate(len(self._own.piece(tree.tokens[node])) for node in path))
            node, end = ROOT, 0
            for token in self._after(output, self._text(tree, path)):
                node, begin = builder.add(node, Step(token)), end
                end += len(self._model.piece(token))
                # A step whose token ends in this one was effective.
                inside = (one for one, its_end in zip(path, ends, strict=True) if begin < its_end <= end)
                if any(draft.origin_of(one) is Origin.MODEL for one in inside):
                    stepped.add(node)
        origins = (Origin.MODEL if node in stepped else Origin.RECYCLED for node in range(builder.size))
        made = builder.tree
        return (
            TreeDraft(made.tokens, Origin.MODEL, parents=made.parents, origins=(*origins,))
            if made.size
            else None
        )

    def _text(self, tree: TokenTree, path: Sequence[int]) -> bytes:
        return spelled(self._own, (tree.tokens[node] for node in path))

    def _after(self, output: Sequence[int], text: bytes) -> list[int]:
        """The tokens of ``text`` after ``output``: those that the whole text has there, if it begins so."""
        whole = self._model.tokenize(spelled(self._model, output) + text)
        if whole[: len(output)] == list(output):
            return whole[len(output) :]
        return self._model.tokenize(text)


def spelled(spelling: Spelling, tokens: Iterable[int]) -> bytes:
    """The bytes of tokens."""
    return b"".join(map(spelling.piece, tokens))


def _tree(draft: Draft) -> TokenTree:
    return draft.tree if isinstance(draft, TreeDraft) else TokenTree.chain(draft.tokens)
