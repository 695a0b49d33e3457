"""A session evaluates each token once, and only what is asked for costs logits; a tree is its paths."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.decoding.forward import Forward
from operators.decoding.session import PrefixSession
from operators.decoding.tree import ROOT, TokenTree
from operators.text import common_prefix
from tests.toy import ToyCache

tokens = st.lists(st.integers(0, 3), min_size=1, max_size=12)


@given(st.lists(st.tuples(tokens, st.integers(0, 11)), min_size=1, max_size=6))
def test_answers_do_not_depend_on_what_was_asked_before(requests: list[tuple[list[int], int]]) -> None:
    used = PrefixSession(ToyCache())
    for held, place in requests:
        request = Forward(held, min(place, len(held) - 1))
        rows = used.forward(request).copy()
        assert rows.tobytes() == PrefixSession(ToyCache()).forward(request).tobytes()
        assert len(rows) == len(held) - request.logits_from


def test_a_common_prefix_is_not_evaluated_again() -> None:
    cache = ToyCache()
    session = PrefixSession(cache)
    session.forward(Forward([1, 2, 3, 4], 3))
    session.forward(Forward([1, 2, 5], 2))
    assert (cache.evaluated, session.reused) == (5, 2)


def test_a_position_outside_the_tokens_is_refused() -> None:
    with pytest.raises(ValueError, match="not a position"):
        PrefixSession(ToyCache()).forward(Forward([1, 2], 2))


def test_a_failed_pass_leaves_nothing_to_be_trusted() -> None:
    class Failing(ToyCache):
        fail = False

        def evaluate(self, tokens, start, rows):  # type: ignore[no-untyped-def]  # as in ToyCache
            if self.fail:
                self.tokens += tokens
                raise RuntimeError("no room")
            return super().evaluate(tokens, start, rows)

    cache = Failing()
    session = PrefixSession(cache)
    session.forward(Forward([1, 2], 1))
    cache.fail = True
    with pytest.raises(RuntimeError):
        session.forward(Forward([1, 2, 3], 2))
    cache.fail = False
    want = PrefixSession(ToyCache()).forward(Forward([1, 2, 3], 2))
    assert session.forward(Forward([1, 2, 3], 2)).tobytes() == want.tobytes()


@given(tokens, tokens)
def test_the_common_prefix_is_the_longest_one(left: list[int], right: list[int]) -> None:
    length = common_prefix(left, right)
    assert left[:length] == right[:length]
    assert length in (len(left), len(right)) or left[length] != right[length]


texts = st.lists(st.lists(st.integers(0, 3), max_size=6), max_size=5)


def spelled(tree: TokenTree, node: int) -> list[int]:
    return [tree.tokens[one] for one in tree.path(node)]


@given(texts)
def test_every_path_is_there_once(paths: list[list[int]]) -> None:
    tree = TokenTree.merged(paths)
    prefixes = {tuple(path[:end]) for path in paths for end in range(1, len(path) + 1)}
    assert sorted(prefixes) == sorted(tuple(spelled(tree, node)) for node in range(tree.size))
    for path in paths:
        assert [tree.tokens[node] for node in tree.walk([*path, 9])] == path


@given(texts, st.integers(0, 30))
def test_the_first_nodes_are_a_tree(paths: list[list[int]], count: int) -> None:
    tree, first = TokenTree.merged(paths), TokenTree.merged(paths).first(count)
    assert tree.begins_with(first)
    assert first.size == min(count, tree.size)
    assert [spelled(first, node) for node in range(first.size)] == [
        spelled(tree, node) for node in range(first.size)
    ]
    assert first.depths == [len(first.path(node)) - 1 for node in range(first.size)]


def test_a_chain_is_all_trunk_and_a_trunk_ends_at_the_first_branch() -> None:
    assert TokenTree.chain([5, 6, 7]).is_chain
    assert TokenTree().is_chain
    tree = TokenTree.merged([[5, 6, 7], [5, 8], [9]])
    assert (tree.trunk, tree.is_chain) == (3, False)
    assert tree.children(0) == [1, 3]
    assert tree.children(ROOT) == [0, 4]
