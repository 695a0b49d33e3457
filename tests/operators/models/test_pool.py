"""Sessions of a pool are only a cache: nothing but the time taken tells whether one was evicted."""

from collections.abc import Container, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.decoding.acceptance import BiasedAcceptance
from operators.decoding.drive import DecodeRequest, drive
from operators.decoding.forward import DecodingResult, Forward, Logits, Task, best_tokens
from operators.decoding.session import PrefixSession
from operators.decoding.ssbd import ssbd
from operators.model_errors import CacheFullError, ModelError
from operators.models.pool import SessionPool
from operators.serving.scheduler import PassRequest, Scheduler
from tests.toy import END, Poisoned, ToyCache, ToyStore

HEAD = [1, 2, 3]
updates = st.lists(st.tuples(st.sampled_from("abcd"), st.lists(st.integers(1, 6), max_size=6)), max_size=12)


def translate_all(
    work: list[tuple[str, list[int]]], pool: SessionPool, released: Container[int] = ()
) -> list[DecodingResult]:
    """Translate each update with the last output as its draft; before some, their session is released."""
    drafts: dict[str, tuple[int, ...]] = {}
    results = []
    for number, (key, source) in enumerate(work):
        if number in released:
            pool.release(key)
        task = Task([*HEAD, *source], drafts.get(key, ()), frozenset([END]), 10)
        with pool.session(key) as session:
            decoded, _ = drive(ssbd(task, BiasedAcceptance(0.2)), session)
        drafts[key] = decoded.tokens
        results.append(decoded)
    return results


@given(updates, st.integers(1, 3), st.sets(st.integers(0, 11)))
def test_neither_evicting_nor_releasing_changes_a_result(
    work: list[tuple[str, list[int]]], size: int, released: set[int]
) -> None:
    small = SessionPool(ToyStore(size + 1), HEAD, size)
    large = SessionPool(ToyStore(9), HEAD, 8)
    assert translate_all(work, small, released) == translate_all(work, large)


OTHERS = ((1, 5), (2, 3, 4))


@given(updates, st.integers(1, 3))
def test_sessions_of_several_prompts_say_what_each_says_alone(
    work: list[tuple[str, list[int]]], size: int
) -> None:
    """The key of a segment decides its prompt: the first head, a further one, or none of them."""
    heads = dict(zip("abcd", ((*HEAD,), *OTHERS, (6,)), strict=True))
    store = ToyStore(size + 1 + len(OTHERS))
    shared = SessionPool(store, HEAD, size, further=OTHERS)
    alone = Scheduler(SessionPool(ToyStore(9), (), 8), fill=64)
    together = Scheduler(shared, fill=64)
    drafts: dict[str, tuple[int, ...]] = {}
    for key, source in work:
        task = Task([*heads[key], *source], drafts.get(key, ()), frozenset([END]), 10)
        want, _ = alone.decode(DecodeRequest(key, ssbd(task, BiasedAcceptance(0.2))))
        got, _ = together.decode(DecodeRequest(key, ssbd(task, BiasedAcceptance(0.2))))
        assert got == want
        drafts[key] = got.tokens


def test_each_head_is_evaluated_once_for_all_sessions_that_begin_with_it() -> None:
    store = ToyStore(2 + 1 + len(OTHERS))
    sessions = SessionPool(store, HEAD, 2, further=OTHERS)
    for number, head in enumerate((HEAD, *OTHERS, HEAD, *OTHERS)):
        request = Forward([*head, 6], len(head))
        asked = PassRequest(str(number), request)
        assert sessions.size(asked) == 1
        assert [answered.reused for answered in sessions.answer([asked])] == [len(head)]


class Crowded(ToyStore):
    """A store whose cache has so many cells for all sequences together."""

    def __init__(self, cells: int) -> None:
        super().__init__(4)
        self.cells = cells

    def evaluate(self, sequence: int, tokens: Sequence[int], start: int, rows: int) -> Logits:
        if sum(len(cache.tokens) for cache in self.caches) + len(tokens) > self.cells:
            self.caches[sequence].tokens.append(1)  # llama.cpp may have got half-way
            raise CacheFullError("llama_decode returned 1")
        return super().evaluate(sequence, tokens, start, rows)


@given(updates)
def test_a_pass_without_room_takes_that_of_other_sessions(work: list[tuple[str, list[int]]]) -> None:
    # Room for the head, and for one session of it with all that it may need, but seldom for another.
    crowded = SessionPool(Crowded(2 * len(HEAD) + 6 + 10 + 1), HEAD, 3)
    assert translate_all(work, crowded) == translate_all(work, SessionPool(ToyStore(9), HEAD, 8))


def fresh(tokens: list[int]) -> bytes:
    """The row after the tokens in a session of its own."""
    return PrefixSession(ToyCache()).forward(Forward(tokens, len(tokens) - 1)).tobytes()


def test_where_one_session_alone_has_no_room_the_pass_fails_and_the_next_may_go_well() -> None:
    pool = SessionPool(Crowded(12), HEAD, 3)
    with pytest.raises(ModelError, match="returned 1"), pool.session("a") as session:
        session.forward(Forward([*HEAD, *[4] * 9], 3))
    with pool.session("a") as session:
        assert session.forward(Forward([*HEAD, 5], 3)).tobytes() == fresh([*HEAD, 5])


def test_a_head_that_is_broken_is_evaluated_anew() -> None:
    store = Poisoned(4, poison=-1)
    pool = SessionPool(store, HEAD, 3)
    store.caches[0].tokens[1] = -1

    def ask() -> bytes:
        with pool.session("a") as session:
            row = session.forward(Forward([*HEAD, 5], 3))
            best_tokens(row)
            return row.tobytes()

    for _ in range(2):
        with pytest.raises(ModelError):
            ask()
    assert ask() == fresh([*HEAD, 5])


def test_a_model_that_cannot_even_evaluate_the_head_begins_no_session() -> None:
    class Broken(ToyStore):
        def evaluate(self, sequence: int, tokens: Sequence[int], start: int, rows: int) -> Logits:
            return super().evaluate(sequence, tokens, start, rows) * np.nan

    with pytest.raises(ModelError, match="not finite"):
        SessionPool(Broken(4), HEAD, 3)
