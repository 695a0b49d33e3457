"""Draft tokens as a tree, in which drafts share their common prefixes (SpecInfer, Miao et al. 2024).

Each node comes after its parent, and the trunk before all branches. So the first nodes of a tree are a tree
themselves, and code that can evaluate only some of the nodes omits the last ones.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

#: The parent of the nodes that follow the known tokens directly.
ROOT = -1
#: Maximum number of nodes of a tree: a cache has as many cells for them.
MAX_NODES = 64


class TokenTree(NamedTuple):
    """Tokens, and for each one the number of its parent node."""

    tokens: tuple[int, ...] = ()
    #: `ROOT`, or the number of an earlier node.
    parents: tuple[int, ...] = ()

    @classmethod
    def chain(cls, tokens: Iterable[int]) -> "TokenTree":
        given = tuple(tokens)
        return cls(given, tuple(range(-1, len(given) - 1)))

    @classmethod
    def merged(cls, paths: Iterable[Sequence[int]]) -> "TokenTree":
        """The tree of some paths, which share their common beginnings."""
        nodes: dict[tuple[int, ...], int] = {}
        for path in paths:
            for end in range(1, len(path) + 1):
                nodes.setdefault(tuple(path[:end]), len(nodes))
        return cls(tuple(one[-1] for one in nodes), tuple(nodes.get(one[:-1], ROOT) for one in nodes))

    @property
    def size(self) -> int:
        return len(self.tokens)

    @property
    def trunk(self) -> int:
        """How many of the first nodes follow each other without a branch between them."""
        return next((node for node, parent in enumerate(self.parents) if parent != node - 1), self.size)

    @property
    def is_chain(self) -> bool:
        return self.trunk == self.size

    @property
    def depths(self) -> list[int]:
        """The place of each node after the known tokens, from 0 on."""
        depths: list[int] = []
        for parent in self.parents:
            depths.append(0 if parent == ROOT else depths[parent] + 1)
        return depths

    def first(self, count: int) -> "TokenTree":
        return self if count >= self.size else TokenTree(self.tokens[:count], self.parents[:count])

    def path(self, node: int) -> list[int]:
        """The nodes from the root to ``node``, inclusive."""
        nodes: list[int] = []
        while node != ROOT:
            nodes.append(node)
            node = self.parents[node]
        return nodes[::-1]

    def children(self, node: int) -> list[int]:
        return [child for child, parent in enumerate(self.parents) if parent == node]

    def child(self, node: int, token: int) -> int | None:
        """The node that follows ``node`` with ``token``; None if there is none."""
        follow = (child for child in self.children(node) if self.tokens[child] == token)
        return next(follow, None)

    def walk(self, tokens: Sequence[int]) -> list[int]:
        """The nodes that spell ``tokens`` from the root on, as far as they exist."""
        nodes: list[int] = []
        for token in tokens:
            node = self.child(nodes[-1] if nodes else ROOT, token)
            if node is None:
                break
            nodes.append(node)
        return nodes

    def begins_with(self, other: "TokenTree") -> bool:
        """Whether the nodes of ``other`` are the first nodes of this tree."""
        return self.first(other.size) == other
