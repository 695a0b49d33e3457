"""A tree of tokens is made of the paths that were put into it, and its first nodes are a tree."""

from hypothesis import given
from hypothesis import strategies as st

from operators.decoding.tree import ROOT, GrowingTree, TokenTree

texts = st.lists(st.lists(st.integers(0, 3), max_size=6), max_size=5)


def grown(paths: list[list[int]]) -> TokenTree:
    growing = GrowingTree()
    for path in paths:
        node = ROOT
        for token in path:
            node = growing.add(node, token)
    return growing.tree


def spelled(tree: TokenTree, node: int) -> list[int]:
    return [tree.tokens[one] for one in tree.path(node)]


@given(texts)
def test_every_path_is_there_once(paths: list[list[int]]) -> None:
    tree = grown(paths)
    prefixes = {tuple(path[:end]) for path in paths for end in range(1, len(path) + 1)}
    assert sorted(prefixes) == sorted(tuple(spelled(tree, node)) for node in range(tree.size))
    for path in paths:
        assert [tree.tokens[node] for node in tree.walk([*path, 9])] == path


@given(texts, st.integers(0, 30))
def test_the_first_nodes_are_a_tree(paths: list[list[int]], count: int) -> None:
    tree, first = grown(paths), grown(paths).first(count)
    assert tree.begins_with(first)
    assert first.size == min(count, tree.size)
    assert [spelled(first, node) for node in range(first.size)] == [
        spelled(tree, node) for node in range(first.size)
    ]
    assert first.depths == [len(first.path(node)) - 1 for node in range(first.size)]


def test_a_chain_is_all_trunk_and_a_trunk_ends_at_the_first_branch() -> None:
    assert TokenTree.chain([5, 6, 7]).is_chain
    assert TokenTree().is_chain
    tree = grown([[5, 6, 7], [5, 8], [9]])
    assert (tree.trunk, tree.is_chain) == (3, False)
    assert tree.children(0) == [1, 3]
    assert tree.children(ROOT) == [0, 4]
