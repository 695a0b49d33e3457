"""An answer is replaced only by one that is likelier by the price of what it takes back."""

from collections.abc import Sequence

import numpy as np
from hypothesis import assume, event, given
from hypothesis import strategies as st

from operators.decoding.acceptance import EXACT, BiasedAcceptance
from operators.decoding.beam import log_probabilities
from operators.decoding.drive import drive
from operators.decoding.forward import Decoded, Task
from operators.decoding.reranking import reranked
from operators.decoding.session import PrefixSession
from operators.decoding.ssbd import ssbd
from operators.text import common_prefix
from tests.toy import END, ToyCache

tokens = st.lists(st.integers(1, 6), min_size=1, max_size=10)
PROMPT = (1, 2)


def task(draft: Sequence[int]) -> Task:
    return Task(PROMPT, draft, frozenset([END]), 30)


def kept(draft: Sequence[int]) -> Decoded:
    """The answer that keeps the whole draft."""
    return drive(ssbd(task(draft), BiasedAcceptance(1.0)), PrefixSession(ToyCache()))[0]


def again(draft: Sequence[int], price: float) -> tuple[Decoded, int]:
    """What reranking makes of it, and the number of passes."""
    method = reranked(task(draft), ssbd(task(draft), BiasedAcceptance(1.0)), price)
    got, cost = drive(method, PrefixSession(ToyCache()))
    return got, cost.passes


def mean(answer: Sequence[int], place: int) -> float:
    """The log-probability of a token behind ``place``, the end included, from the toy model itself."""
    rows = ToyCache().evaluate([*PROMPT, *answer], 0, len(PROMPT) + len(answer))[len(PROMPT) - 1 :]
    logs = log_probabilities(rows)[np.arange(len(answer) + 1), [*answer, END]]
    return float(logs[place:].mean())


@given(tokens, st.floats(0.0, 3.0))
def test_another_answer_takes_the_place_only_where_it_is_likelier_by_its_price(
    draft: list[int], price: float
) -> None:
    first, (got, _) = kept(draft), again(draft, price)
    assume(first.cut is None)
    event(f"replaced: {got.tokens != first.tokens}")
    if got.tokens == first.tokens:
        assert got._replace(passes=None) == first
        return
    place = common_prefix(first.tokens, got.tokens)
    erased = common_prefix(draft, first.tokens) - common_prefix(draft, got.tokens)
    gained = (mean(got.tokens, place) - mean(first.tokens, place)) * (len(got.tokens) + 1 - place)
    assert gained > price * erased - 1e-3


@given(tokens)
def test_a_wrong_draft_gives_way_to_what_the_model_would_say_where_that_costs_nothing(
    draft: list[int],
) -> None:
    first, (got, _) = kept(draft), again(draft, 0.0)
    exact = drive(ssbd(task(draft), EXACT), PrefixSession(ToyCache()))[0]
    assume(first.cut is None and exact.cut is None)
    place = common_prefix(first.tokens, exact.tokens)
    is_better = first != exact and mean(exact.tokens, place) > mean(first.tokens, place) + 1e-3
    event(f"better: {is_better}")
    assert not is_better or got.tokens == exact.tokens


@given(tokens)
def test_where_no_other_answer_can_pay_no_pass_is_spent(draft: list[int]) -> None:
    first, cost = drive(ssbd(task(draft), BiasedAcceptance(1.0)), PrefixSession(ToyCache()))
    got, passes = again(draft, 99.0)
    assert got == first
    assert passes == cost.passes


@given(tokens, st.floats(0.0, 3.0))
def test_an_answer_that_stands_says_how_many_passes_it_took(draft: list[int], price: float) -> None:
    first, cost = drive(ssbd(task(draft), BiasedAcceptance(1.0)), PrefixSession(ToyCache()))
    got, passes = again(draft, price)
    event(f"searched: {passes > cost.passes}")
    if got.tokens == first.tokens and passes > cost.passes:
        assert got.passes == cost.passes
    else:
        assert got.passes is None


@given(tokens, st.floats(0.0, 1.0))
def test_the_counts_of_what_came_from_the_draft_are_those_of_the_answer_that_is_given(
    draft: list[int], price: float
) -> None:
    got, _ = again(draft, price)
    assert list(got.tokens[: got.accepted]) == draft[: got.accepted]
    assert len(got.origins) == len(got.tokens)
    assert len(got.gaps) == got.accepted <= got.drafted == len(draft)
