"""A session evaluates each token once, and only what is asked for costs logits; a tree is its paths."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.decoding.forward import Forward
from operators.decoding.session import PrefixSession
from operators.decoding.tree import ROOT, TokenTree
from tests.toy import ToyCache

held = st.lists(st.integers(0, 3), min_size=1, max_size=12)


@given(st.lists(st.tuples(held, st.integers(0, 11)), min_size=1, max_size=6))
def test_answers_do_not_depend_on_what_was_asked_before(requests: list[tuple[list[int], int]]) -> None:
    used = PrefixSession(ToyCache())
    for tokens, place in requests:
        request = Forward(tokens, min(place, len(tokens) - 1))
        rows = used.forward(request).copy()
        assert rows.tobytes() == PrefixSession(ToyCache()).forward(request).tobytes()
        assert len(rows) == len(tokens) - request.logits_from


def test_a_common_prefix_is_not_evaluated_again() -> None:
    cache = ToyCache()
    session = PrefixSession(cache)
    session.forward(Forward([1, 2, 3, 4], 3))
    session.forward(Forward([1, 2, 5], 2))
    assert (cache.evaluated, session.reused) == (5, 2)


def test_a_failed_pass_leaves_nothing_to_be_trusted() -> None:
    class Failing(ToyCache):
        fail = True

        def evaluate(self, tokens, start, rows):  # type: ignore[no-untyped-def]  # as in ToyCache
            if self.fail:
                self.tokens += tokens
                raise RuntimeError("no room")
            return super().evaluate(tokens, start, rows)

    cache, request = Failing(), Forward([1, 2, 3], 2)
    session = PrefixSession(cache)
    with pytest.raises(RuntimeError):
        session.forward(request)
    cache.fail = False
    assert session.forward(request).tobytes() == PrefixSession(ToyCache()).forward(request).tobytes()


texts = st.lists(st.lists(st.integers(0, 3), max_size=6), max_size=5)


def spelled(tree: TokenTree) -> list[list[int]]:
    """The path of each node."""
    return [[tree.tokens[one] for one in tree.path(node)] for node in range(tree.size)]


@given(texts)
def test_every_path_is_there_once(paths: list[list[int]]) -> None:
    tree = TokenTree.merged(paths)
    prefixes = {tuple(path[:end]) for path in paths for end in range(1, len(path) + 1)}
    assert sorted(prefixes) == sorted(map(tuple, spelled(tree)))
    for path in paths:
        assert [tree.tokens[node] for node in tree.walk([*path, 9])] == path


def test_a_chain_is_all_trunk_and_a_trunk_ends_at_the_first_branch() -> None:
    assert TokenTree.chain([5, 6, 7]).is_chain
    assert TokenTree().is_chain
    tree = TokenTree.merged([[5, 6, 7], [5, 8], [9]])
    assert (tree.trunk, tree.is_chain) == (3, False)
    assert (tree.children(0), tree.children(ROOT)) == ([1, 3], [0, 4])
