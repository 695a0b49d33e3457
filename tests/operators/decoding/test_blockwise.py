"""Whatever is proposed after the divergence: greedy decoding's output, in no more passes."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.decoding.acceptance import EXACT, Acceptance, BiasedAcceptance
from operators.decoding.drafts import Drafter
from operators.decoding.drive import drive
from operators.decoding.forward import Origin, Task
from operators.decoding.pass_cost import FLAT, BlockLength, PassCosts
from operators.decoding.recycling import recycling
from operators.decoding.ssbd import ssbd
from operators.research.jacobi import Jacobi
from tests.says import Said, Says
from tests.toy import END, prompts, run, tokens, toy_task

texts = st.lists(tokens, max_size=3)
limits = st.integers(1, 20)
Make = Callable[[Task, Acceptance], Drafter]

makers = st.one_of(
    st.sampled_from([FLAT, PassCosts((1, 4), (11.0, 32.0))]).map(
        lambda costs: lambda task, rule: recycling(task, BlockLength(costs, threshold=0.0), rule)
    ),
    st.builds(
        dict,
        block=st.none() | st.integers(1, 9),
        horizon=st.none() | st.integers(1, 9),
        starts_with_draft=st.booleans(),
    ).map(lambda kind: lambda task, rule: Jacobi(task, rule, **kind)),
)


def make_task(prompt: list[int], draft: list[int], limit: int, recent: Sequence[list[int]] = ()) -> Task:
    return toy_task(prompt, draft, limit)._replace(source=prompt, recent=recent)


@given(prompts, tokens, limits, texts, st.just(0.0) | st.floats(0.0, 1.0), makers)
def test_proposals_change_nothing_where_only_the_draft_is_biased(
    prompt: list[int], draft: list[int], limit: int, recent: list[list[int]], bias: float, make: Make
) -> None:
    task = make_task(prompt, draft, limit, recent)
    want, most = run(ssbd(task, BiasedAcceptance(bias)))
    got, cost = run(ssbd(task, BiasedAcceptance(bias), None, make(task, EXACT)))
    assert (got.tokens, got.cut, got.accepted) == (want.tokens, want.cut, want.accepted)
    assert cost.passes <= most.passes


@given(prompts, tokens, limits, st.floats(0.0, 1.0), makers)
def test_every_token_has_an_origin_and_the_counts_are_theirs(
    prompt: list[int], draft: list[int], limit: int, bias: float, make: Make
) -> None:
    task = make_task(prompt, draft, limit)._replace(committed=2)
    rule = BiasedAcceptance(bias)
    got, _ = run(ssbd(task, rule, None, make(task, rule)))
    assert len(got.origins) == len(got.tokens)
    drafted = [origin for origin in got.origins if origin in (Origin.COMMITTED, Origin.DRAFT)]
    assert len(drafted) == got.accepted
    own = got.origins.count(Origin.OWN)
    assert got.taken == len(got.tokens) - got.accepted - own
    assert got.taken <= got.proposed


def scripted(script: list[int], draft: list[int], after: dict[int, int] | None = None) -> Says:
    """A model that says the script, and after each prefix of the draft that is not right goes on with that.

    ``after`` are tokens that it says instead, by the length of such a prefix.
    """

    def says(output: tuple[int, ...]) -> Said:
        place = len(output)
        if list(output) == script[:place]:
            return Said([*script, END][place])
        goes_on = list(output) == draft[:place] and place < len(draft)
        return Said((after or {}).get(place, draft[place]) if goes_on else 29)

    return Says([28], says)


@pytest.mark.parametrize(
    ("script", "after", "blocks"),
    [
        ([1, 9, 3, 4, 5, 6], {}, [[3, 4, 5, 6]]),
        ([1, 3, 4, 5, 6], {}, [[4, 5, 6]]),
        ([1, 9, 2, 3, 4, 5, 6], {}, [[3, 4, 5, 6], [3, 4, 5, 6]]),
        ([1, 9, 3, 8, 5, 6], {3: 8}, [[3, 8, 5, 6]]),
    ],
    ids=["a token replaced", "missing", "additional", "the tail corrected by the pass that rejected it"],
)
def test_the_rejected_tail_is_taken_up_again(
    script: list[int], after: dict[int, int], blocks: list[list[int]]
) -> None:
    draft = [1, 2, 3, 4, 5, 6]
    session, task = scripted(script, draft, after), make_task([28], draft, 30)
    method = ssbd(task, EXACT, None, recycling(task, BlockLength(threshold=0.1)))
    assert drive(method, session)[0].tokens == tuple(script)
    assert session.blocks == [draft, *blocks]


def test_what_was_said_before_is_proposed_where_the_tail_has_nothing() -> None:
    session = scripted([5, 6, 7, 8, 9], [])
    task = make_task([28], [], 30, recent=[[4, 5, 6, 7, 8, 2]])
    decoded, cost = drive(ssbd(task, EXACT, None, recycling(task, BlockLength())), session)
    assert decoded.tokens == (5, 6, 7, 8, 9)
    assert decoded.origins == (Origin.OWN, Origin.OWN, Origin.LOOKED_UP, Origin.LOOKED_UP, Origin.OWN)
    assert cost.passes == 4


@given(prompts, limits, texts)
def test_what_was_said_elsewhere_never_bends_an_output(
    prompt: list[int], limit: int, recent: list[list[int]]
) -> None:
    rule, length = BiasedAcceptance(1.0), BlockLength(threshold=0.0)
    with_recent, without = (make_task(prompt, [], limit, said) for said in (recent, ()))
    got, want = (
        run(ssbd(one, rule, None, recycling(one, length, rule)))[0] for one in (with_recent, without)
    )
    assert got.tokens == want.tokens


def test_a_draft_that_is_verified_in_several_passes_is_aligned_all_the_same() -> None:
    draft = [1, 2, 3, 4, 5, 6, 7, 8]
    script = [1, 2, 3, 9, 5, 6, 7, 8]
    session, task = scripted(script, draft, {3: 29}), make_task([28], draft, 30)
    decoded, cost = drive(ssbd(task, EXACT, 1, Jacobi(task, starts_with_draft=True)), session)
    assert decoded.tokens == tuple(script)
    # The draft in blocks of 1 and 3, of which the second falls; then its tail, at its own place.
    assert session.blocks[:2] == [[1], [3, 4, 5]]
    assert session.blocks[2][:4] == [5, 6, 7, 8]
    assert cost.passes == 3
