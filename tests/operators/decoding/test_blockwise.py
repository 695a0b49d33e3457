"""Whatever is proposed after the divergence: greedy decoding's output, in no more passes."""

from collections.abc import Callable, Sequence

from hypothesis import given
from hypothesis import strategies as st

from operators.decoding.acceptance import EXACT, Acceptance, BiasedAcceptance, MinimumBlock
from operators.decoding.drafts import Draft, Drafter, Drafting, Verified, at_once
from operators.decoding.drive import Cost, drive
from operators.decoding.forward import DecodingResult, Method, Origin, Task
from operators.decoding.pass_cost import FLAT, BlockLength, PassCosts
from operators.decoding.recycling import recycling
from operators.decoding.session import PrefixSession
from operators.decoding.ssbd import retranslate, ssbd
from operators.research.jacobi import Jacobi
from tests.says import Said, Says
from tests.toy import END, ToyCache

tokens = st.lists(st.integers(1, 6), max_size=12)
prompts = st.lists(st.integers(1, 6), min_size=1, max_size=8)
texts = st.lists(tokens, max_size=3)
limits = st.integers(1, 20)
Make = Callable[[Task, Acceptance], Drafter]
DEAR = PassCosts((1, 4), (11.0, 32.0))

makers = st.one_of(
    st.sampled_from([FLAT, DEAR]).map(
        lambda costs: lambda task, rule: recycling(task, BlockLength(costs, threshold=0.0), rule)
    ),
    st.just(lambda task, rule: Jacobi(task, None, rule)),
    st.integers(1, 9).map(lambda block: lambda task, rule: Jacobi(task, block, rule)),
    st.integers(1, 9).map(lambda block: lambda task, rule: Jacobi(task, block, rule, hybrid=True)),
)


def run(method: Method, cache: ToyCache | None = None) -> tuple[DecodingResult, Cost]:
    return drive(method, PrefixSession(cache or ToyCache()))


def make_task(prompt: list[int], draft: list[int], limit: int, recent: Sequence[list[int]] = ()) -> Task:
    return Task(prompt, draft, frozenset([END]), limit, source=prompt, recent=recent)


@given(prompts, tokens, limits, texts, st.just(0.0) | st.floats(0.0, 1.0), makers)
def test_proposals_change_nothing_where_only_the_draft_is_biased(
    prompt: list[int], draft: list[int], limit: int, recent: list[list[int]], bias: float, make: Make
) -> None:
    task = make_task(prompt, draft, limit, recent)
    want, most = run(ssbd(task, BiasedAcceptance(bias)))
    got, cost = run(ssbd(task, BiasedAcceptance(bias), None, make(task, EXACT)))
    assert (got.tokens, got.cut, got.accepted) == (want.tokens, want.cut, want.accepted)
    assert cost.passes <= most.passes


class Anything:
    """Drafts tokens at random, hypothesis being the dice."""

    def __init__(self, blocks: list[list[int]]) -> None:
        self.blocks = blocks
        self.seen: list[Verified] = []

    def learn(self, verified: Verified) -> None:
        self.seen.append(verified)

    def draft(self, output: Sequence[int]) -> Drafting:  # noqa: ARG002 - the protocol
        block = tuple(self.blocks.pop() if self.blocks else ())
        return at_once(Draft(block, Origin.PARALLEL))


@given(prompts, limits, st.lists(st.lists(st.integers(0, 6), max_size=9), max_size=9), st.integers(1, 4))
def test_any_initialisation_gives_greedy_decoding_in_at_most_one_pass_for_each_token(
    prompt: list[int], limit: int, blocks: list[list[int]], block: int
) -> None:
    task = make_task(prompt, [], limit)
    want, most = run(retranslate(task))
    got, cost = run(ssbd(task, BiasedAcceptance(0.0), None, Anything(blocks)))
    assert got.tokens == want.tokens
    assert cost.passes <= most.passes <= max(1, len(want.tokens) + 1)
    # An oracle as initialisation: the fixed point is found at once.
    oracle = make_task(prompt, list(want.tokens), limit)
    again, once = run(ssbd(oracle, BiasedAcceptance(0.0), None, Jacobi(oracle, block)))
    assert (again.tokens, once.passes) == (want.tokens, 1)


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


@given(prompts, tokens, limits, st.integers(1, 4))
def test_a_minimum_block_takes_so_many_tokens_a_pass(
    prompt: list[int], draft: list[int], limit: int, size: int
) -> None:
    task = make_task(prompt, draft, limit)
    got, _ = run(ssbd(task, MinimumBlock(BiasedAcceptance(0.0), size)))
    assert got.accepted >= min(len(draft), limit, size - 1, len(got.tokens))


def scripted(script: list[int], after: dict[tuple[int, ...], int]) -> Says:
    """A model that says the script, and other tokens ``after`` some outputs."""

    def says(output: tuple[int, ...]) -> Said:
        is_right = list(output) == script[: len(output)]
        return Said(after.get(output, script[len(output)] if is_right else 29))

    return Says([28], says)


def recycled(
    draft: list[int], script: list[int], after: dict[tuple[int, ...], int] | None = None
) -> list[list[int]]:
    """The blocks that recycling verifies, the draft's first."""
    session = scripted([*script, END], after or {})
    task = make_task([28], draft, 30)
    method = ssbd(task, BiasedAcceptance(0.0), None, recycling(task, BlockLength(threshold=0.1)))
    assert drive(method, session)[0].tokens == tuple(script)
    return session.blocks


def keeps(draft: list[int]) -> dict[tuple[int, ...], int]:
    """A model that goes on with the old output after each prefix of it that is not right."""
    return {tuple(draft[:place]): draft[place] for place in range(2, len(draft))}


def test_the_tail_is_taken_up_again_after_a_replaced_a_missing_and_an_additional_token() -> None:
    draft = [1, 2, 3, 4, 5, 6]
    assert recycled(draft, [1, 9, 3, 4, 5, 6], keeps(draft)) == [draft, [3, 4, 5, 6]]
    assert recycled(draft, [1, 3, 4, 5, 6], keeps(draft)) == [draft, [4, 5, 6]]
    blocks = recycled(draft, [1, 9, 2, 3, 4, 5, 6], keeps(draft))
    assert blocks[-1] == [3, 4, 5, 6]
    assert len(blocks) == 3


def test_the_tail_is_corrected_by_the_pass_that_rejected_it() -> None:
    draft = [1, 2, 3, 4, 5, 6]
    says = {**keeps(draft), (1, 2, 3): 8}
    assert recycled(draft, [1, 9, 3, 8, 5, 6], says)[:2] == [draft, [3, 8, 5, 6]]


def test_what_was_said_before_is_proposed_where_the_tail_has_nothing() -> None:
    session = scripted([5, 6, 7, 8, 9, END], {})
    task = make_task([28], [], 30, recent=[[4, 5, 6, 7, 8, 2]])
    method = ssbd(task, BiasedAcceptance(0.0), None, recycling(task, BlockLength()))
    decoded, cost = drive(method, session)
    assert decoded.tokens == (5, 6, 7, 8, 9)
    assert decoded.origins == (Origin.OWN, Origin.OWN, Origin.LOOKED_UP, Origin.LOOKED_UP, Origin.OWN)
    assert cost.passes == 4


@given(prompts, limits, texts)
def test_what_was_said_elsewhere_never_bends_an_output(
    prompt: list[int], limit: int, recent: list[list[int]]
) -> None:
    task, forgotten = make_task(prompt, [], limit, recent), make_task(prompt, [], limit)
    everything = BiasedAcceptance(1.0)
    length = BlockLength(threshold=0.0)
    outputs = {
        run(ssbd(one, everything, None, recycling(one, length, everything)))[0].tokens
        for one in (task, forgotten)
    }
    assert len(outputs) == 1


def test_a_draft_that_is_verified_in_several_passes_is_aligned_all_the_same() -> None:
    draft = [1, 2, 3, 4, 5, 6, 7, 8]
    script = [1, 2, 3, 9, 5, 6, 7, 8]
    # Behind the token that is wrong it goes on with the old output.
    says = {prefix: token for prefix, token in keeps(draft).items() if len(prefix) > 3}
    session = scripted([*script, END], says)
    task = make_task([28], draft, 30)
    decoded, cost = drive(ssbd(task, BiasedAcceptance(0.0), 1, Jacobi(task, 8)), session)
    assert decoded.tokens == tuple(script)
    # The draft in blocks of 1 and 3, of which the second falls; then its tail, at its own place.
    assert session.blocks[:2] == [[1], [3, 4, 5]]
    assert session.blocks[2][:4] == [5, 6, 7, 8]
    assert cost.passes == 3
