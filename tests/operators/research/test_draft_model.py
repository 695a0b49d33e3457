"""A draft model: the output is the one without it; where it stops, what it uses again, where it branches."""

from collections.abc import Sequence
from contextlib import ExitStack

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.decoding.acceptance import EXACT, BiasedAcceptance
from operators.decoding.blockwise import decode
from operators.decoding.drafts import Drafting, Verified, at_once
from operators.decoding.drive import Cost, drive
from operators.decoding.forward import DecodingResult, Logits, Method, Origin, Session, Task
from operators.decoding.session import PrefixSession
from operators.decoding.ssbd import retranslate, ssbd
from operators.decoding.tree import TokenTree
from operators.models.pool import SessionPool
from operators.research.draft_model import ModelDrafts, Prediction, TreeDraft
from operators.trouble import ModelTrouble, Trouble
from tests.operators.decoding.test_session import spelled, texts
from tests.says import Said, Says, script
from tests.toy import END, ToyCache, ToyStore

tokens = st.lists(st.integers(1, 6), max_size=12)
prompts = st.lists(st.integers(1, 6), min_size=1, max_size=8)
limits = st.integers(1, 30)
spare = st.integers(1, 6)
errors = st.sampled_from([0.0, 0.2, 0.7, 5.0])
predictions = st.builds(
    Prediction,
    length=st.integers(1, 12),
    threshold=st.floats(0.0, 1.0),
    recycles=st.booleans(),
    branches=st.integers(0, 4),
    reach=st.integers(1, 5),
    nodes=st.integers(1, 20),
)
trees = st.lists(st.tuples(st.integers(0, 99), st.integers(0, 6)), max_size=12)


def make_task(prompt: list[int], draft: Sequence[int] = (), limit: int = 30) -> Task:
    return Task(prompt, draft, frozenset([END]), limit)


def sessions(stack: ExitStack, branches: int, error: float) -> tuple[Session, Session]:
    """A session of the toy, and one of a toy that drafts for it; sessions of both pools were used before."""
    pools = [
        SessionPool(ToyStore(3 + branches, error=each), [1, 2], 2, branches=branches) for each in (0.0, error)
    ]
    return stack.enter_context(pools[0].session("a")), stack.enter_context(pools[1].session("a"))


def run(method: Method, branches: int = 0, error: float = 0.0) -> tuple[DecodingResult, Cost]:
    with ExitStack() as stack:
        return drive(method, *sessions(stack, branches, error))


@given(prompts, tokens, limits, st.floats(0.0, 0.6), predictions, errors, spare)
def test_the_last_output_keeps_its_bias_and_its_precedence(
    prompt: list[int], draft: list[int], limit: int, bias: float, prediction: Prediction, error: float,
    branches: int,
) -> None:  # fmt: skip
    task, rule = make_task(prompt, draft, limit), BiasedAcceptance(bias)
    want, most = run(ssbd(task, rule))
    got, cost = run(ssbd(task, rule, None, ModelDrafts(task, prediction)), branches, error)
    assert (got.tokens, got.cut, got.accepted) == (want.tokens, want.cut, want.accepted)
    assert cost.passes <= most.passes


@given(prompts, limits, predictions, errors)
def test_sessions_that_know_no_trees_are_asked_for_the_trunk(
    prompt: list[int], limit: int, prediction: Prediction, error: float
) -> None:
    task = make_task(prompt, limit=limit)
    want, _ = run(retranslate(task))
    both = PrefixSession(ToyCache()), PrefixSession(ToyCache(error=error))
    got, _ = drive(decode(task, ModelDrafts(task, prediction)), *both)
    assert got.tokens == want.tokens


class AnyTree:
    """Drafts trees at random, hypothesis being the dice."""

    def __init__(self, drafts: list[list[tuple[int, int]]]) -> None:
        self.drafts = drafts

    def learn(self, verified: Verified) -> None:
        pass

    def draft(self, output: Sequence[int]) -> Drafting:  # noqa: ARG002 - the protocol
        nodes = self.drafts.pop() if self.drafts else []
        parents = [parent % (number + 1) - 1 for number, (parent, _) in enumerate(nodes)]
        return at_once(TreeDraft(tuple(token for _, token in nodes), parents=tuple(parents)))


@given(prompts, limits, st.lists(trees, max_size=9), spare)
def test_any_tree_gives_greedy_decoding_in_no_more_passes(
    prompt: list[int], limit: int, drafts: list[list[tuple[int, int]]], branches: int
) -> None:
    task = make_task(prompt, limit=limit)
    want, most = run(retranslate(task))
    got, cost = run(decode(task, AnyTree(drafts)), branches)
    assert (got.tokens, got.cut) == (want.tokens, want.cut)
    assert cost.passes <= most.passes


class Broken(ToyCache):
    """Answers so many passes and then fails, or computes no numbers."""

    def __init__(self, passes: int, *, fails: bool) -> None:
        super().__init__(error=0.2)
        self.passes, self.fails = passes, fails

    def evaluate(self, tokens: Sequence[int], start: int, rows: int) -> Logits:
        logits = super().evaluate(tokens, start, rows)
        self.passes -= 1
        if self.passes < 0 and self.fails:
            raise ModelTrouble(Trouble.FAILED_PASS, "llama_decode returned -1")
        return logits if self.passes >= 0 else logits * np.nan


@given(prompts, predictions, st.integers(0, 9), st.booleans())
def test_a_draft_model_that_fails_costs_its_drafts_and_no_output(
    prompt: list[int], prediction: Prediction, passes: int, fails: bool
) -> None:
    task = make_task(prompt)
    want, most = run(retranslate(task))
    broken = PrefixSession(Broken(passes, fails=fails))
    got, cost = drive(decode(task, ModelDrafts(task, prediction)), PrefixSession(ToyCache()), broken)
    assert got.tokens == want.tokens
    assert cost.passes <= most.passes


@given(texts, st.integers(0, 3), st.integers(0, 6))
def test_what_may_stand_has_all_that_comes_before_it(paths: list[list[int]], token: int, deep: int) -> None:
    tree = TokenTree.merged(paths)
    kept = TreeDraft(tree.tokens, parents=tree.parents).within(deep, {token}).tree
    left = [path for path in (spelled(tree, node) for node in range(tree.size)) if token not in path]
    assert [spelled(kept, node) for node in range(kept.size)] == [path for path in left if len(path) <= deep]


def test_a_tree_under_a_lenient_rule_goes_on_with_what_that_lets_stand() -> None:
    rows = np.zeros((4, 5), np.float32)
    rows[:, 4] = 9.0
    draft = TreeDraft((1, 2, 3), acceptance=BiasedAcceptance(1.0), parents=(-1, 0, 0))
    verified = draft.verified(0, rows)
    assert (list(verified.path), verified.own) == ([0, 1], 4)
    rows[1, 3] = 10.0  # the model's own choice comes first
    assert list(draft.verified(0, rows).path) == [0, 2]
    assert list(msgspec.structs.replace(draft, acceptance=EXACT).verified(0, rows).path) == []


PROMPT = [30, 31]
TEXT = [1, 2, 3, 4, 5, 6, 7, 8]


def spoken(
    target: Says, draft: Says, prediction: Prediction, last: list[int] | None = None
) -> tuple[DecodingResult, Cost]:
    task = Task(PROMPT, last or (), frozenset([END]), 30)
    second = ModelDrafts(task, prediction)
    method = decode(task, second) if last is None else ssbd(task, EXACT, None, second)
    return drive(method, target, draft)


def offered(target: Says) -> list[list[int]]:
    """What each pass was offered after the known tokens, without branches."""
    return [tokens for tokens, _ in target.asked]


def test_a_prediction_stops_with_a_token_of_which_the_model_is_not_sure() -> None:
    target, draft = Says(PROMPT, script(TEXT)), Says(PROMPT, script(TEXT, {3: (0.3, 9), 6: (0.5, 9)}))
    decoded, cost = spoken(target, draft, Prediction())
    assert decoded.tokens == tuple(TEXT)
    # The step for that token is done, so that it is offered too.
    assert offered(target) == [TEXT[:4], TEXT]
    assert (cost.passes, cost.draft_passes) == (2, 4 + 4)
    assert decoded.origins[3:5] == (Origin.MODEL, Origin.OWN)


def test_a_prediction_has_its_length_at_most_and_ends_with_the_text() -> None:
    target, draft = Says(PROMPT, script(TEXT)), Says(PROMPT, script(TEXT))
    spoken(target, draft, Prediction(length=3))
    assert offered(target) == [TEXT[:3], TEXT[:7], TEXT]


def test_what_was_rejected_is_drafted_again_without_a_step_where_a_new_token_meets_it() -> None:
    said = [1, 2, 3, 4, 5, 6, 7, 8]
    drafted = [1, 9, 3, 4, 5, 6, 7, 8]
    target, draft = Says(PROMPT, script(said)), Says(PROMPT, script(drafted))
    decoded, cost = spoken(target, draft, Prediction())
    assert decoded.tokens == tuple(said)
    # Eight steps and the end; then one that says 3, and the other five come for nothing.
    assert (cost.passes, cost.draft_passes) == (2, 9 + 1)
    assert decoded.origins[2:] == (Origin.MODEL, *[Origin.RECYCLED] * 5)
    again, more = spoken(
        Says(PROMPT, script(said)), Says(PROMPT, script(drafted)), Prediction(recycles=False)
    )
    assert (again.tokens, more.draft_passes) == (decoded.tokens, 9 + 7)


@pytest.mark.parametrize(
    ("said", "drafted"),
    [
        ([1, 2, 3, 4, 5, 6], [1, 9, 2, 3, 4, 5, 6]),  # the draft had a token more
        ([1, 9, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6]),  # and one less
    ],
)
def test_branches_meet_at_adjacent_places_too(said: list[int], drafted: list[int]) -> None:
    def after(output: tuple[int, ...]) -> Said:
        # Once it is told of the other token the draft model goes on rightly.
        right = output == tuple(said[: len(output)]) and len(output) > 1
        text = said if right else drafted
        return Said(text[len(output)] if len(output) < len(text) else END)

    decoded, cost = spoken(Says(PROMPT, script(said)), Says(PROMPT, after), Prediction())
    assert decoded.tokens == tuple(said)
    assert Origin.RECYCLED in decoded.origins
    assert cost.passes == 2


def test_the_rejected_tail_of_the_last_output_is_the_first_branch() -> None:
    target, draft = Says(PROMPT, script(TEXT)), Says(PROMPT, script(TEXT))
    decoded, cost = spoken(target, draft, Prediction(), [1, 9, 3, 4, 5, 6, 7, 8])
    assert decoded.tokens == tuple(TEXT)
    # A step says 3; the rest is the old output's, and a last step says that this was all.
    assert (cost.passes, cost.draft_passes) == (2, 2)
    assert decoded.origins[3] is Origin.RECYCLED


def test_a_tree_branches_where_the_model_is_unsure_and_goes_on_with_the_trunk_where_it_meets() -> None:
    said = [1, 2, 9, 4, 5, 6, 7, 8]
    drafted = script(TEXT, {2: (0.3, 9), 5: (0.35, 11)})
    target, draft = Says(PROMPT, script(said)), Says(PROMPT, drafted)
    decoded, cost = spoken(target, draft, Prediction(branches=2))
    assert decoded.tokens == tuple(said)
    assert cost.passes == 1
    known, tree = target.asked[0]
    assert known == []
    assert tree.tokens[: tree.trunk] == tuple(TEXT)
    # 9 in the place of 3 and 11 in that of 6; then what the trunk has behind them.
    assert [tree.tokens[node] for node in tree.walk(said)] == said
    assert [tree.tokens[node] for node in tree.walk([1, 2, 3, 4, 5, 11, 7, 8])] == [1, 2, 3, 4, 5, 11, 7, 8]
    # The trunk and its end, and one pass for both branches together.
    assert cost.draft_passes == 9 + 1
    assert decoded.origins == (Origin.MODEL,) * 4 + (Origin.RECYCLED,) * 4


def test_a_trunk_ends_where_there_are_more_unsure_places_than_there_may_be_branches() -> None:
    unsure = {place: (0.3, 20 + place) for place in (1, 3, 5)}
    target, draft = Says(PROMPT, script(TEXT)), Says(PROMPT, script(TEXT, unsure))
    spoken(target, draft, Prediction(branches=2, reach=1))
    _, tree = target.asked[0]
    assert tree.tokens[: tree.trunk] == tuple(TEXT[:6])
    assert tree.tokens[tree.trunk :] == (21, 23)


def test_without_a_draft_model_there_is_one_token_a_pass() -> None:
    task = Task(PROMPT, (), frozenset([END]), 30)
    decoded, cost = drive(decode(task, ModelDrafts(task, Prediction())), Says(PROMPT, script(TEXT)))
    assert decoded.tokens == tuple(TEXT)
    assert (cost.passes, cost.draft_passes) == (9, 0)


def test_nodes_that_a_session_leaves_out_are_not_judged() -> None:
    class Short(Says):
        def forward_tree(self, request):  # type: ignore[no-untyped-def]  # as in Says
            cut = request._replace(tree=request.tree.first(request.tree.trunk))
            return super().forward_tree(cut)

    said = [1, 2, 9, 4, 5, 6, 7, 8]
    target, draft = Short(PROMPT, script(said)), Says(PROMPT, script(TEXT, {2: (0.3, 9)}))
    decoded, cost = spoken(target, draft, Prediction(branches=2))
    assert decoded.tokens == tuple(said)
    assert cost.passes > 1
    assert all(tree == TokenTree() or tree.is_chain for _, tree in target.asked)
