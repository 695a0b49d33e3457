"""A tree in one pass of llama.cpp says of each branch what a pass over that branch alone says."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.decoding.forward import Forward, Logits, TreeForward
from operators.decoding.session import PrefixSession
from operators.decoding.tree import TokenTree
from operators.model_errors import CacheFullError, ModelError
from operators.models.context import ContextSettings
from operators.models.kv import KvTreeSession, Part
from operators.models.llama import LlamaContext
from operators.models.llama_model import LlamaModel
from operators.models.pool import SessionPool
from tests.near_ties import agree
from tests.toy import ToyCache, ToyStore


def pool_of(store: ToyStore, spare: int = 6) -> SessionPool:
    return SessionPool(store, (), len(store.caches) - spare - 1, branches=spare)


@contextmanager
def session_of(pool: SessionPool) -> Iterator[KvTreeSession]:
    with pool.session("a") as session:
        assert isinstance(session, KvTreeSession)
        yield session


@pytest.mark.real_model
@pytest.mark.long
def test_every_branch_of_a_tree_is_evaluated_as_if_it_were_alone(model: LlamaModel) -> None:
    prompt = model.begin + model.tokenize("The capital of France is Paris. The capital of Italy")
    branches = " is Rome. The capital of Spain", " is called Rome. The capital of", " was Turin, and"
    tree = TokenTree.merged(map(model.tokenize, branches))
    assert tree.size > tree.trunk + 4
    context = LlamaContext(model, ContextSettings(cells=1024, sequences=6, threads=2))
    pool = SessionPool(context, prompt[:4], 1, branches=4)
    with session_of(pool) as session:
        rows = session.forward_tree(TreeForward(prompt, tree, len(prompt) - 1)).copy()
        assert len(rows) == tree.size + 1
        assert not agree(rows[1:], rows[:-1])
        # The last branch goes on where it is, and nothing of it is evaluated again.
        branch = [*prompt, *(tree.tokens[node] for node in tree.path(tree.size - 1))]
        more = [*branch, *model.tokenize(" then")]
        after = session.forward(Forward(more, len(branch))).copy()
        assert session.reused == len(branch)
    with pool.session("alone") as session:
        assert agree(after, session.forward(Forward(more, len(branch))))
    for node in range(tree.size):
        path = tree.path(node)
        with pool.session("alone") as session:
            tokens = [*prompt, *(tree.tokens[one] for one in path)]
            alone = session.forward(Forward(tokens, len(prompt) - 1))
        assert agree(rows[[0, *(one + 1 for one in path)]], alone)
    context.close()


requests = st.lists(
    st.tuples(
        st.lists(st.integers(1, 3), min_size=1, max_size=6),
        st.lists(st.lists(st.integers(1, 3), min_size=1, max_size=4), max_size=4),
        st.integers(0, 20),
    ),
    min_size=1,
    max_size=5,
)


@given(requests, st.integers(1, 6))
def test_rows_of_a_tree_do_not_depend_on_what_was_asked_before(
    asked: list[tuple[list[int], list[list[int]], int]], spare: int
) -> None:
    with session_of(pool_of(ToyStore(8), spare)) as session:
        for tokens, paths, place in asked:
            tree = TokenTree.merged(paths)
            logits_from = min(place, len(tokens) + tree.size - 1)
            rows = session.forward_tree(TreeForward(tokens, tree, logits_from)).copy()
            assert len(rows) <= len(tokens) + tree.size - logits_from
            assert len(rows) == len(tokens) + tree.size - logits_from or len(paths) > spare
            for number, row in enumerate(rows, start=logits_from):
                node = number - len(tokens)
                nodes = tree.path(node) if node >= 0 else []
                path = [*tokens[: number + 1], *(tree.tokens[one] for one in nodes)]
                alone = PrefixSession(ToyCache()).forward(Forward(path, len(path) - 1))
                assert row.tobytes() == alone[0].tobytes()


def test_a_branch_that_is_gone_on_with_is_not_evaluated_again_and_gone_with_its_session() -> None:
    store = ToyStore(8)
    with session_of(pool_of(store)) as session:
        session.forward_tree(TreeForward([1, 2], TokenTree.merged([[3, 4], [5, 6, 1]]), 1))
        before = sum(cache.evaluated for cache in store.caches)
        assert any(cache.tokens for cache in store.caches[2:])
        session.forward(Forward([1, 2, 5, 6, 1, 4], 5))
        assert session.reused == 5
        assert sum(cache.evaluated for cache in store.caches) == before + 1
        session.forward_tree(TreeForward([1, 2], TokenTree.merged([[3], [4]]), 1))
    assert not any(cache.tokens for cache in store.caches[2:])


def test_a_tree_that_grows_is_evaluated_once() -> None:
    with session_of(pool_of(ToyStore(8))) as session:
        session.forward(Forward([1, 2, 3, 4], 3))
        tree = TokenTree.merged([[3, 4], [5], [6]])
        session.forward_tree(TreeForward([1, 2], tree, 4))
        assert session.reused == 4
        growing = TokenTree((*tree.tokens, 1, 2), (*tree.parents, 2, 3))
        session.forward_tree(TreeForward([1, 2], growing, 6))
        assert session.reused == 6


def ask(pool: SessionPool, request: TreeForward) -> bytes:
    with session_of(pool) as session:
        return session.forward_tree(request).tobytes()


def test_after_a_failed_pass_no_branch_is_left_and_a_full_cache_makes_room() -> None:
    class Full(ToyStore):
        failures = 0

        def evaluate_parts(self, parts: Sequence[Part]) -> list[Logits]:
            if self.failures:
                self.failures -= 1
                self.caches[1].tokens.append(9)
                raise CacheFullError("llama_decode returned 1")
            return super().evaluate_parts(parts)

    store = Full(8)
    request = TreeForward([1, 2], TokenTree.merged([[3], [4]]), 1)
    pool = SessionPool(store, (), 2, branches=5)
    for key in "ab":
        with pool.session(key) as session:
            session.forward(Forward([6], 0))
    store.failures = 1
    assert ask(pool, request) == ask(pool_of(ToyStore(8)), request)
    store.failures = 2
    with pytest.raises(ModelError):
        ask(pool, request._replace(tokens=[1, 3]))
    assert not any(cache.tokens for cache in store.caches[1:])


def test_a_long_prompt_goes_before_the_pass_of_its_tree() -> None:
    class Small(ToyStore):
        largest_pass = 4

    tokens, tree = [1, 2, 3, 1, 2, 3, 1], TokenTree.merged([[1], [2]])
    request = TreeForward(tokens, tree, len(tokens) - 1)
    assert ask(pool_of(Small(8)), request) == ask(pool_of(ToyStore(8)), request)
