"""A session evaluates each token once, and only what is asked for costs logits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.decoding.forward import Forward
from operators.decoding.session import PrefixSession
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
