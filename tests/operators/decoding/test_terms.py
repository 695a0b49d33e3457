"""A bias towards terms, on the toy model: what it changes, and what it leaves as it was."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from operators.decoding.acceptance import BiasedAcceptance, UtilityAcceptance
from operators.decoding.adjustment import adjusted
from operators.decoding.blockwise import decode
from operators.decoding.drive import drive
from operators.decoding.forward import DecodingResult, Forward, Method, Task
from operators.decoding.pass_cost import FLAT, BlockLength
from operators.decoding.recycling import recycling
from operators.decoding.session import PrefixSession
from operators.decoding.ssbd import retranslate, ssbd
from operators.decoding.terms import LogitBias, SourceTerms, Term, term_bias
from operators.glossary import Glossary, times_said
from operators.models.pool import SessionPool
from operators.prompts.prompt import EndOfTurn, Prompt
from operators.research.draft_model import ModelDrafts, Prediction
from operators.research.jacobi import Jacobi
from operators.trouble import Trouble
from tests.toy import END, SpellingVocabulary, ToyCache, ToyStore, ToyVocabulary

tokens = st.lists(st.integers(1, 6), max_size=12)
prompts = st.lists(st.integers(1, 6), min_size=1, max_size=8)
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


def task(prompt: list[int], draft: list[int] | None = None, limit: int = 16) -> Task:
    return Task(prompt, draft or [], frozenset([END]), limit)


def term(*tokens: int, times: int = 1) -> Term:
    return Term(text(tokens).strip(), tokens, tokens, times, LogitBias(1.0, 2.0))


def text(output: tuple[int, ...]) -> str:
    return b"".join(map(ToyVocabulary().piece, output)).decode()


def run(method: Method) -> DecodingResult:
    return drive(method, PrefixSession(ToyCache()))[0]


def biased(method: Method, one: Task, wanted: list[Term], bias: LogitBias) -> DecodingResult:
    return run(with_bias(method, one, wanted, bias))


def with_bias(method: Method, one: Task, wanted: list[Term], bias: LogitBias) -> Method:
    rule = term_bias([each._replace(bias=bias) for each in wanted], ToyVocabulary().piece)
    return adjusted(method, one, rule)


@given(prompts, tokens, terms, biases)
def test_a_draft_that_is_verified_in_one_pass_gives_what_decoding_token_by_token_gives(
    prompt: list[int], draft: list[int], wanted: list[Term], bias: LogitBias
) -> None:
    one = task(prompt, draft)
    want = biased(retranslate(one), one, wanted, bias)
    for exact in (BiasedAcceptance(0.0), UtilityAcceptance(0.0)):
        assert biased(ssbd(one, exact), one, wanted, bias).tokens == want.tokens
    for drafter in (recycling(one, BlockLength(FLAT)), Jacobi(one, 3)):
        assert (
            biased(ssbd(one, BiasedAcceptance(0.0), None, drafter), one, wanted, bias).tokens == want.tokens
        )


@given(prompts, terms, biases, st.integers(1, 3), st.integers(0, 4))
def test_a_draft_model_that_branches_changes_nothing_even_where_the_session_has_no_trees(
    prompt: list[int], wanted: list[Term], bias: LogitBias, branches: int, sequences: int
) -> None:
    one = task(prompt)
    want = biased(retranslate(one), one, wanted, bias)
    drafting = ModelDrafts(one, Prediction(threshold=0.9, branches=branches))
    method = with_bias(decode(one, drafting), one, wanted, bias)
    pools = [SessionPool(ToyStore(3 + many), [], 2, branches=many) for many in (sequences, 2)]
    with pools[0].session("a") as session, pools[1].session("a") as draft:
        assert drive(method, session, draft)[0].tokens == want.tokens


@given(prompts, tokens, st.floats(0.0, 0.4), terms, biases)
def test_an_output_is_a_fixed_point_with_any_bias(
    prompt: list[int], draft: list[int], beta: float, wanted: list[Term], bias: LogitBias
) -> None:
    one = task(prompt, draft)
    first = biased(ssbd(one, BiasedAcceptance(beta)), one, wanted, bias).tokens
    again = task(prompt, list(first))
    assert biased(ssbd(again, BiasedAcceptance(beta)), again, wanted, bias).tokens == first


@given(prompts, terms)
@example([2], [term(2, 2, 4, times=2)])
def test_a_term_is_said_as_often_as_its_source_and_never_more_often_for_the_bias(
    prompt: list[int], wanted: list[Term]
) -> None:
    one = task(prompt, limit=30)
    done = biased(retranslate(one), one, wanted, ENDLESS)
    output = done.tokens
    for place, token in enumerate(output):
        before = text(output[:place])
        if all(times_said(before, each.text) >= each.times for each in wanted):
            assert token == ToyCache().evaluate([*prompt, *output[:place]], 0, 1).argmax()
    # Of a phrase that is repeated endlessly one is kept, with whatever was said in it.
    if len(wanted) == 1 and done.cut is not Trouble.REPETITION:
        assert times_said(text(output), wanted[0].text) >= wanted[0].times


@given(prompts, terms, biases)
def test_only_the_tokens_of_terms_are_raised(prompt: list[int], wanted: list[Term], bias: LogitBias) -> None:
    seen = []

    def method() -> Method:
        seen.append((yield Forward([*prompt, 1, 2, 3], 0)).copy())
        return DecodingResult(())

    one = task(prompt)
    biased(method(), one, wanted, bias)
    raised = seen[0] - ToyCache().evaluate([*prompt, 1, 2, 3], 0, len(prompt) + 3)
    assert not raised[: len(prompt) - 1].any(), "the rows inside the prompt say nothing about the output"
    others = [token for token in range(7) if all(token not in each.spaced for each in wanted)]
    assert not raised[:, others].any()
    assert np.all(raised >= 0.0)


def test_a_term_that_has_begun_is_continued_and_its_beginning_is_raised_less() -> None:
    raised = raised_after([2, 3, 4], [term(3, 4, 5)])
    assert raised == [{3: 1.0}, {3: 1.0}, {3: 1.0, 4: 2.0}, {3: 1.0, 5: 2.0}]


def test_a_term_is_raised_again_if_its_source_occurs_again() -> None:
    assert raised_after([3, 3], [term(3, times=2)]) == [{3: 1.0}, {3: 1.0}, {}]


def test_of_terms_that_share_a_token_the_larger_bias_counts() -> None:
    assert raised_after([3], [term(3, 4), term(4, 5)])[1] == {3: 1.0, 4: 2.0}


def raised_after(output: list[int], wanted: list[Term]) -> list[dict[int, float]]:
    """The tokens that are raised after each beginning of an output."""
    rows = np.zeros((len(output) + 1, 7), np.float32)
    rule = term_bias(wanted, ToyVocabulary().piece)
    for end, row in enumerate(rows):
        rule(row, tuple(output[:end]))
    return [{int(token): float(row[token]) for token in row.nonzero()[0]} for row in rows]


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
