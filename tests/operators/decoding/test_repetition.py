"""Where an output that repeats itself without end is cut."""

from hypothesis import given
from hypothesis import strategies as st

from operators.decoding.drive import drive
from operators.decoding.forward import Task
from operators.decoding.greedy import retranslate
from operators.decoding.repetition import TIMES, TOKENS, repetition
from operators.decoding.session import PrefixSession
from tests.toy import END, ToyCache


@given(
    st.lists(st.integers(1, 3), max_size=8), st.lists(st.integers(4, 9), min_size=1, max_size=6, unique=True)
)
def test_what_is_said_over_and_over_is_kept_once(lead: list[int], loop: list[int]) -> None:
    times = max(TIMES, -(-TOKENS // len(loop)))
    tokens = lead + loop * times
    if repetition(lead) is None:
        assert repetition(tokens) == len(lead) + len(loop)
        assert repetition(tokens[:-1]) is None


@given(st.permutations(list(range(30))))
def test_words_that_differ_are_no_repetition(tokens: list[int]) -> None:
    assert repetition(tokens) is None


@given(st.lists(st.integers(1, 2), max_size=40), st.integers(0, 40))
def test_looking_in_two_goes_finds_what_one_go_finds(tokens: list[int], middle: int) -> None:
    first = repetition(tokens[:middle])
    assert repetition(tokens) == (
        first if first is not None else repetition(tokens, min(middle, len(tokens)))
    )


def test_a_decoder_that_is_stuck_stops_early() -> None:
    class Stuck(ToyCache):
        def _row(self, prefix):  # type: ignore[no-untyped-def]  # as in ToyCache
            row = super()._row(prefix)
            row[:] = 0
            row[1 + len(prefix) % 2] = 9
            return row

    task = Task([1], (), frozenset([END]), 200)
    decoded, cost = drive(retranslate(task), PrefixSession(Stuck()))
    assert decoded.tokens == (2, 1)
    assert cost.passes == TOKENS
