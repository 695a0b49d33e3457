"""A lean towards terms, on the toy model: what it changes, and what it leaves as it was."""

from contextlib import suppress

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from operators.decoding.acceptance import BiasedAcceptance, WorthAcceptance
from operators.decoding.blockwise import decode
from operators.decoding.drive import drive
from operators.decoding.forward import Decoded, Forward, Method, Task
from operators.decoding.pass_cost import FLAT, BlockLength
from operators.decoding.recycling import recycling
from operators.decoding.session import PrefixSession
from operators.decoding.ssbd import retranslate, ssbd
from operators.decoding.terms import Lean, Leaning, Spelling, Term, with_terms
from operators.glossary import Glossary, said_at
from operators.models.pool import SessionPool
from operators.prompts.prompt import EndOfTurn, Prompt
from operators.research.draft_model import ModelDrafts
from operators.research.jacobi import Jacobi
from operators.research.prediction import Prediction
from operators.trouble import Trouble
from tests.toy import END, SpellingVocabulary, ToyCache, ToyStore, ToyVocabulary

tokens = st.lists(st.integers(1, 6), max_size=12)
prompts = st.lists(st.integers(1, 6), min_size=1, max_size=8)
terms = st.lists(
    st.builds(
        lambda spelled, times: among(*spelled, times=times),
        st.lists(st.lists(st.integers(1, 6), min_size=1, max_size=3).map(tuple), min_size=1, max_size=3),
        st.integers(1, 2),
    ),
    min_size=1,
    max_size=3,
)
leans = st.builds(Lean, st.floats(0.0, 8.0), st.floats(0.0, 12.0))
#: A lean that no choice of the toy model withstands.
ENDLESS = Lean(1000.0, 2000.0)


def task(prompt: list[int], draft: list[int] | None = None, limit: int = 16) -> Task:
    return Task(prompt, draft or [], frozenset([END]), limit)


def term(*spelled: int, times: int = 1) -> Term:
    return among(spelled, times=times)


def among(*spelled: tuple[int, ...], times: int = 1) -> Term:
    """A term with several translations."""
    spellings = [Spelling(text(one).strip(), one, one) for one in spelled]
    return Term(tuple((one, Lean(1.0, 2.0)) for one in spellings), times)


def leant(one: Term, lean: Lean) -> Term:
    return one._replace(spellings=tuple((spelling, lean) for spelling, _ in one.spellings))


def text(output: tuple[int, ...]) -> str:
    return b"".join(map(ToyVocabulary().piece, output)).decode()


def run(method: Method) -> Decoded:
    return drive(method, PrefixSession(ToyCache()))[0]


def leaning(method: Method, one: Task, wanted: list[Term], lean: Lean) -> Decoded:
    return run(with_lean(method, one, wanted, lean))


def with_lean(method: Method, one: Task, wanted: list[Term], lean: Lean) -> Method:
    return with_terms(method, one, [leant(each, lean) for each in wanted], ToyVocabulary().piece)


@given(prompts, tokens, terms, leans)
def test_a_draft_that_is_verified_in_one_pass_gives_what_decoding_token_by_token_gives(
    prompt: list[int], draft: list[int], wanted: list[Term], lean: Lean
) -> None:
    one = task(prompt, draft)
    want = leaning(retranslate(one), one, wanted, lean)
    for exact in (BiasedAcceptance(0.0), WorthAcceptance(0.0)):
        assert leaning(ssbd(one, exact), one, wanted, lean).tokens == want.tokens
    for drafter in (recycling(one, BlockLength(FLAT)), Jacobi(one, 3)):
        assert (
            leaning(ssbd(one, BiasedAcceptance(0.0), None, drafter), one, wanted, lean).tokens == want.tokens
        )


@given(prompts, terms, leans, st.integers(1, 3), st.integers(0, 4))
def test_a_draft_model_that_branches_changes_nothing_even_where_the_session_has_no_trees(
    prompt: list[int], wanted: list[Term], lean: Lean, branches: int, sequences: int
) -> None:
    one = task(prompt)
    want = leaning(retranslate(one), one, wanted, lean)
    drafting = ModelDrafts(one, Prediction(threshold=0.9, branches=branches))
    method = with_lean(decode(one, drafting), one, wanted, lean)
    pools = [SessionPool(ToyStore(3 + many), [], 2, branches=many) for many in (sequences, 2)]
    with pools[0].session("a") as session, pools[1].session("a") as draft:
        assert drive(method, session, draft)[0].tokens == want.tokens


@given(prompts, tokens, st.floats(0.0, 0.4), terms, leans)
def test_an_output_is_a_fixed_point_with_any_lean(
    prompt: list[int], draft: list[int], bias: float, wanted: list[Term], lean: Lean
) -> None:
    one = task(prompt, draft)
    first = leaning(ssbd(one, BiasedAcceptance(bias)), one, wanted, lean).tokens
    again = task(prompt, list(first))
    assert leaning(ssbd(again, BiasedAcceptance(bias)), again, wanted, lean).tokens == first


@given(prompts, tokens, st.floats(0.0, 1.0), terms)
def test_no_lean_changes_nothing(
    prompt: list[int], draft: list[int], bias: float, wanted: list[Term]
) -> None:
    one = task(prompt, draft)
    want = run(ssbd(one, BiasedAcceptance(bias)))
    assert leaning(ssbd(one, BiasedAcceptance(bias)), one, wanted, Lean(0.0, 0.0)) == want


@given(prompts, terms)
@example([2], [term(2, 2, 4, times=2)])
def test_a_term_is_said_as_often_as_its_source_and_never_more_often_for_the_lean(
    prompt: list[int], wanted: list[Term]
) -> None:
    one = task(prompt, limit=30)
    done = leaning(retranslate(one), one, wanted, ENDLESS)
    output = done.tokens
    for place, token in enumerate(output):
        before = text(output[:place])
        if all(said(before, each) >= each.times for each in wanted):
            assert token == ToyCache().evaluate([*prompt, *output[:place]], 0, 1).argmax()
    # Of a phrase that is repeated endlessly one is kept, with whatever was said in it.
    if len(wanted) == 1 and done.cut is not Trouble.REPETITION:
        assert said(text(output), wanted[0]) >= wanted[0].times


def said(output: str, one: Term) -> int:
    return len(said_at(output.casefold(), [spelling.text.casefold() for spelling, _ in one.spellings]))


@given(prompts, terms, leans)
def test_only_the_tokens_of_terms_are_raised(prompt: list[int], wanted: list[Term], lean: Lean) -> None:
    seen = []

    def method() -> Method:
        seen.append((yield Forward([*prompt, 1, 2, 3], 0)).copy())
        return Decoded(())

    one = task(prompt)
    leaning(method(), one, wanted, lean)
    raised = seen[0] - ToyCache().evaluate([*prompt, 1, 2, 3], 0, len(prompt) + 3)
    assert not raised[: len(prompt) - 1].any(), "the rows inside the prompt say nothing about the output"
    others = [
        token
        for token in range(7)
        if all(token not in one.spaced for each in wanted for one, _ in each.spellings)
    ]
    assert not raised[:, others].any()
    assert np.all(raised >= 0.0)


def test_a_term_that_has_begun_is_continued_and_its_beginning_is_leaned_to_less() -> None:
    raised = raised_after([2, 3, 4], [term(3, 4, 5)])
    assert raised == [{3: 1.0}, {3: 1.0}, {3: 1.0, 4: 2.0}, {3: 1.0, 5: 2.0}]


def test_a_term_is_leaned_to_again_if_its_source_occurs_again() -> None:
    assert raised_after([3, 3], [term(3, times=2)]) == [{3: 1.0}, {3: 1.0}, {}]


def test_of_terms_that_share_a_token_the_larger_lean_counts() -> None:
    assert raised_after([3], [term(3, 4), term(4, 5)])[1] == {3: 1.0, 4: 2.0}


def test_of_several_translations_of_a_word_one_suffices() -> None:
    assert raised_after([5, 3, 6], [among((3, 4), (5,))]) == [{3: 1.0, 5: 1.0}, {}, {}, {}]
    twice = raised_after([5, 3, 4], [among((3, 4), (5,), times=2)])
    assert twice == [{3: 1.0, 5: 1.0}, {3: 1.0, 5: 1.0}, {3: 1.0, 4: 2.0, 5: 1.0}, {}]


def raised_after(output: list[int], wanted: list[Term]) -> list[dict[int, float]]:
    """The tokens that are raised after each beginning of an output."""
    rows = np.zeros((len(output) + 1, 7), np.float32)

    def method() -> Method:
        yield Forward([1, *output], 0)
        return Decoded(())

    leaning = with_terms(method(), task([1]), wanted, ToyVocabulary().piece)
    next(leaning)
    with suppress(StopIteration):
        leaning.send(rows)
    return [{int(token): float(row[token]) for token in row.nonzero()[0]} for row in rows]


def test_a_word_has_a_space_before_it_except_at_the_beginning_and_after_a_bracket() -> None:
    vocabulary = SpellingVocabulary()
    spaced = spelt("ab", Prompt(vocabulary, (), " ", (), EndOfTurn(vocabulary)))
    ((spelling, _),) = spaced.spellings
    assert (spelling.spaced, spelling.bare) == (tuple(map(ord, " ab")), tuple(map(ord, "ab")))
    unspaced = spelt("词", Prompt(vocabulary, (), "", (), EndOfTurn(vocabulary), joint=""))
    ((spelling, _),) = unspaced.spellings
    assert spelling.spaced == spelling.bare == (ord("词"),)
    begun = {after: begins_with(spaced, after) for after in ("", "x", "x ", "x (", "x-")}
    assert begun == {"": {" ", "a"}, "x": {" "}, "x ": {" ", "a"}, "x (": {" ", "a"}, "x-": {" ", "a"}}


def spelt(target: str, prompt: Prompt) -> Term:
    (one,) = Leaning(prompt, Glossary({("x",): target}), None).terms("x")
    return one


def begins_with(one: Term, after: str) -> set[str]:
    """The characters that a term may begin with after a text."""
    row = np.zeros((1, 128), np.float32)

    def method() -> Method:
        yield Forward([0, *map(ord, after)], len(after))
        return Decoded(())

    leaning = with_terms(method(), Task([0], (), (), 9), [one], lambda token: chr(token).encode())
    next(leaning)
    with suppress(StopIteration):
        leaning.send(row)
    # "a" continues the term that a space has begun.
    return {chr(token) for token in row[0].nonzero()[0]}
