"""A bias towards terms, on the toy model: what it changes, and what it leaves as it was."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from operators.decoding.acceptance import BiasedAcceptance, UtilityAcceptance
from operators.decoding.adjustment import adjusted
from operators.decoding.blockwise import decode
from operators.decoding.drive import drive
from operators.decoding.forward import DecodingResult, Method, Task
from operators.decoding.pass_cost import FLAT, BlockLength
from operators.decoding.recycling import recycling
from operators.decoding.ssbd import retranslate, ssbd
from operators.decoding.terms import LogitBias, SourceTerms, Term, term_bias
from operators.glossary import Glossary, times_said
from operators.model_errors import ErrorKind
from operators.models.pool import SessionPool
from operators.prompts.prompt import EndOfTurn, Prompt
from operators.research.draft_model import ModelDrafts, Prediction
from operators.research.jacobi import Jacobi
from tests.toy import SpellingVocabulary, ToyCache, ToyStore, ToyVocabulary, prompts, run, tokens, toy_task

terms = st.lists(
    st.builds(
        lambda tokens, times: term(*tokens, times=times),
        st.lists(st.integers(1, 6), min_size=1, max_size=3),
        st.integers(1, 2),
    ),
    min_size=1,
    max_size=3,
)
biases = st.builds(LogitBias, st.floats(0.0, 8.0), st.floats(0.0, 12.0))
#: A bias that no choice of the toy model withstands.
ENDLESS = LogitBias(1000.0, 2000.0)


def term(*tokens: int, times: int = 1) -> Term:
    return Term(text(tokens).strip(), tokens, tokens, times, LogitBias(1.0, 2.0))


def text(output: tuple[int, ...]) -> str:
    return b"".join(map(ToyVocabulary().piece, output)).decode()


def with_bias(method: Method, task: Task, wanted: list[Term], bias: LogitBias) -> Method:
    rule = term_bias([each._replace(bias=bias) for each in wanted], ToyVocabulary().piece)
    return adjusted(method, task, rule)


def biased(method: Method, task: Task, wanted: list[Term], bias: LogitBias) -> DecodingResult:
    return run(with_bias(method, task, wanted, bias))[0]


@given(prompts, tokens, terms, biases)
def test_a_draft_that_is_verified_in_one_pass_gives_what_decoding_token_by_token_gives(
    prompt: list[int], draft: list[int], wanted: list[Term], bias: LogitBias
) -> None:
    task = toy_task(prompt, draft)
    want = biased(retranslate(task), task, wanted, bias)
    for method in (
        ssbd(task, BiasedAcceptance(0.0)),
        ssbd(task, UtilityAcceptance(0.0)),
        ssbd(task, BiasedAcceptance(0.0), None, recycling(task, BlockLength(FLAT))),
        ssbd(task, BiasedAcceptance(0.0), None, Jacobi(task, block=3)),
    ):
        assert biased(method, task, wanted, bias).tokens == want.tokens


@given(prompts, terms, biases, st.integers(1, 3), st.integers(0, 4))
def test_a_draft_model_that_branches_changes_nothing_even_where_the_session_has_no_trees(
    prompt: list[int], wanted: list[Term], bias: LogitBias, branches: int, sequences: int
) -> None:
    task = toy_task(prompt)
    want = biased(retranslate(task), task, wanted, bias)
    drafting = ModelDrafts(task, Prediction(threshold=0.9, branches=branches))
    method = with_bias(decode(task, drafting), task, wanted, bias)
    pools = [SessionPool(ToyStore(3 + many), [], 2, branches=many) for many in (sequences, 2)]
    with pools[0].session("a") as session, pools[1].session("a") as draft:
        assert drive(method, session, draft)[0].tokens == want.tokens


@given(prompts, terms)
@example([2], [term(2, 2, 4, times=2)])
def test_a_term_is_said_as_often_as_its_source_and_never_more_often_for_the_bias(
    prompt: list[int], wanted: list[Term]
) -> None:
    task = toy_task(prompt, limit=30)
    done = biased(retranslate(task), task, wanted, ENDLESS)
    output = done.tokens
    for place, token in enumerate(output):
        before = text(output[:place])
        if all(times_said(before, each.text) >= each.times for each in wanted):
            assert token == ToyCache().evaluate([*prompt, *output[:place]], 0, 1).argmax()
    # Of a phrase that is repeated endlessly one is kept, with whatever was said in it.
    if len(wanted) == 1 and done.cut is not ErrorKind.REPETITION:
        assert times_said(text(output), wanted[0].text) >= wanted[0].times


@pytest.mark.parametrize(
    ("output", "wanted", "raised"),
    [
        ([2, 3, 4], [term(3, 4, 5)], [{3: 1.0}, {3: 1.0}, {3: 1.0, 4: 2.0}, {3: 1.0, 5: 2.0}]),
        ([3, 3], [term(3, times=2)], [{3: 1.0}, {3: 1.0}, {}]),
        ([3], [term(3, 4), term(4, 5)], [{3: 1.0, 4: 1.0}, {3: 1.0, 4: 2.0}]),
    ],
    ids=["one that has begun is continued", "again if its source is", "of two the larger bias counts"],
)
def test_a_term_is_raised_after_each_beginning_of_an_output(
    output: list[int], wanted: list[Term], raised: list[dict[int, float]]
) -> None:
    rule = term_bias(wanted, ToyVocabulary().piece)
    for end, want in enumerate(raised):
        row = np.zeros(7, np.float32)
        rule(row, tuple(output[:end]))
        assert {int(token): float(row[token]) for token in row.nonzero()[0]} == want


def test_a_word_has_a_space_before_it_except_at_the_beginning_and_after_a_bracket() -> None:
    vocabulary = SpellingVocabulary()
    spaced = spelt("ab", Prompt(vocabulary, (), " ", (), EndOfTurn(vocabulary)))
    assert (spaced.spaced, spaced.bare) == (tuple(map(ord, " ab")), tuple(map(ord, "ab")))
    unspaced = spelt("词", Prompt(vocabulary, (), "", (), EndOfTurn(vocabulary), joint=""))
    assert unspaced.spaced == unspaced.bare == (ord("词"),)
    begun = {after: begins_with(spaced, after) for after in ("", "x", "x ", "x (", "x-")}
    assert begun == {"": {" ", "a"}, "x": {" "}, "x ": {" ", "a"}, "x (": {" ", "a"}, "x-": {" ", "a"}}


def spelt(target: str, prompt: Prompt) -> Term:
    (one,) = SourceTerms(prompt, Glossary({("x",): target})).terms("x")
    return one


def begins_with(one: Term, after: str) -> set[str]:
    """The characters that a term may begin with after a text."""
    row = np.zeros(128, np.float32)
    term_bias([one], lambda token: chr(token).encode())(row, tuple(map(ord, after)))
    # "a" continues the term that a space has begun.
    return {chr(token) for token in row.nonzero()[0]}
