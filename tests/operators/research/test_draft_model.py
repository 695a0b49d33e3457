"""Whatever a draft model drafts, as a sequence or as a tree: the output is the one without it."""

from collections.abc import Sequence
from contextlib import ExitStack

import msgspec
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from operators.decoding.acceptance import EXACT, BiasedAcceptance
from operators.decoding.blockwise import decode
from operators.decoding.drafts import Drafting, Verified, at_once
from operators.decoding.drive import Cost, drive
from operators.decoding.forward import Decoded, Logits, Method, Session, Task
from operators.decoding.session import PrefixSession
from operators.decoding.ssbd import retranslate, ssbd
from operators.decoding.tree import TokenTree
from operators.models.pool import SessionPool
from operators.research.draft_model import ModelDrafts
from operators.research.prediction import Prediction, tree_draft, tree_of
from operators.trouble import ModelTrouble, Trouble
from tests.operators.decoding.test_session import grown, spelled, texts
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


def run(method: Method, branches: int = 0, error: float = 0.0) -> tuple[Decoded, Cost]:
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
        tree = TokenTree(tuple(token for _, token in nodes), tuple(parents))
        return at_once(tree_draft(tree))


@given(prompts, limits, st.lists(trees, max_size=9), spare)
def test_any_tree_gives_greedy_decoding_in_no_more_passes(
    prompt: list[int], limit: int, drafts: list[list[tuple[int, int]]], branches: int
) -> None:
    task = make_task(prompt, limit=limit)
    want, most = run(retranslate(task))
    got, cost = run(decode(task, AnyTree(drafts)), branches)
    assert (got.tokens, got.cut) == (want.tokens, want.cut)
    assert cost.passes <= most.passes


@given(prompts, st.integers(2, 30))
def test_a_model_that_drafts_for_itself_needs_a_pass_for_each_full_draft(
    prompt: list[int], limit: int
) -> None:
    task = make_task(prompt, limit=limit)
    want, _ = run(retranslate(task))
    plain = Prediction(length=5, threshold=0.0)
    got, cost = run(decode(task, ModelDrafts(task, plain)))
    assert got.tokens == want.tokens
    # Five of its tokens and the model's own in each pass; what repeats itself is cut after the fact.
    assert got.cut is not None or cost.passes == len(want.tokens) // 6 + 1


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
    tree = grown(paths)
    kept = tree_of(tree_draft(tree).within(deep, {token}))
    left = [path for path in (spelled(tree, node) for node in range(tree.size)) if token not in path]
    assert [spelled(kept, node) for node in range(kept.size)] == [path for path in left if len(path) <= deep]


def test_a_tree_under_a_lenient_rule_goes_on_with_what_that_lets_stand() -> None:
    rows = np.zeros((4, 5), np.float32)
    rows[:, 4] = 9.0
    draft = tree_draft(TokenTree((1, 2, 3), (-1, 0, 0)), (), BiasedAcceptance(1.0))
    verified = draft.verified(0, rows)
    assert (list(verified.path), verified.own) == ([0, 1], 4)
    rows[1, 3] = 10.0  # the model's own choice comes first
    assert list(draft.verified(0, rows).path) == [0, 2]
    assert list(msgspec.structs.replace(draft, acceptance=EXACT).verified(0, rows).path) == []
