"""A draft model: the output is the one without it; where it stops, what it uses again, where it branches."""

from collections.abc import Callable, Sequence
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
from operators.decoding.forward import DecodingResult, Logits, Method, Origin, Task
from operators.decoding.session import PrefixSession
from operators.decoding.ssbd import retranslate, ssbd
from operators.decoding.tree import TokenTree
from operators.model_errors import ErrorKind, ModelError
from operators.models.pool import SessionPool
from operators.research.draft_model import ModelDrafts, Prediction
from operators.research.tree_draft import TreeDraft
from tests.operators.decoding.test_session import spelled, texts
from tests.says import Said, Says, script
from tests.toy import END, ToyCache, ToyStore, prompts, tokens, toy_task

limits = st.integers(1, 30)
spare = st.integers(1, 6)
errors = st.sampled_from([0.0, 0.2, 0.7, 5.0])
predictions = st.builds(
    Prediction,
    length=st.integers(1, 12),
    threshold=st.floats(0.0, 1.0),
    recycles=st.booleans(),
    branches=st.integers(0, 4),
    nodes=st.integers(1, 20),
)
trees = st.lists(st.tuples(st.integers(0, 99), st.integers(0, 6)), max_size=12)


def run(method: Method, branches: int = 0, error: float = 0.0) -> tuple[DecodingResult, Cost]:
    """Drives a method in sessions of the toy, and of a toy that drafts for it."""
    with ExitStack() as stack:
        stores = [ToyStore(3 + branches, error=each) for each in (0.0, error)]
        pools = [SessionPool(store, [1, 2], 2, branches=branches) for store in stores]
        return drive(method, *(stack.enter_context(pool.session("a")) for pool in pools))


@given(prompts, tokens, limits, st.floats(0.0, 0.6), predictions, errors, spare)
def test_the_last_output_keeps_its_bias_and_its_precedence(
    prompt: list[int], draft: list[int], limit: int, bias: float, prediction: Prediction, error: float,
    branches: int,
) -> None:  # fmt: skip
    task, rule = toy_task(prompt, draft, limit), BiasedAcceptance(bias)
    want, most = run(ssbd(task, rule))
    got, cost = run(ssbd(task, rule, None, ModelDrafts(task, prediction)), branches, error)
    assert (got.tokens, got.cut, got.accepted) == (want.tokens, want.cut, want.accepted)
    assert cost.passes <= most.passes


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
    task = toy_task(prompt, limit=limit)
    want, most = run(retranslate(task))
    got, cost = run(decode(task, AnyTree(drafts)), branches)
    assert (got.tokens, got.cut) == (want.tokens, want.cut)
    assert cost.passes <= most.passes


class Broken(ToyCache):
    """Answers so many passes and then fails, or computes no numbers."""

    def __init__(self, error: float, passes: int, *, fails: bool) -> None:
        super().__init__(error=error)
        self.passes, self.fails = passes, fails

    def evaluate(self, tokens: Sequence[int], start: int, rows: int) -> Logits:
        logits = super().evaluate(tokens, start, rows)
        self.passes -= 1
        if self.passes < 0 and self.fails:
            raise ModelError(ErrorKind.FAILED_PASS, "llama_decode returned -1")
        return logits if self.passes >= 0 else logits * np.nan


@given(prompts, limits, predictions, errors, st.integers(0, 9) | st.just(99), st.booleans())
def test_a_draft_model_that_knows_no_trees_or_fails_costs_its_drafts_and_no_output(
    prompt: list[int], limit: int, prediction: Prediction, error: float, passes: int, fails: bool
) -> None:
    task = toy_task(prompt, limit=limit)
    want, most = run(retranslate(task))
    broken = PrefixSession(Broken(error, passes, fails=fails))
    for draft in (broken, None):
        got, cost = drive(decode(task, ModelDrafts(task, prediction)), PrefixSession(ToyCache()), draft)
        assert (got.tokens, got.cut) == (want.tokens, want.cut)
        assert cost.passes <= most.passes


@given(texts, st.integers(0, 3), st.integers(0, 6))
def test_what_may_stand_has_all_that_comes_before_it(paths: list[list[int]], token: int, deep: int) -> None:
    tree = TokenTree.merged(paths)
    kept = TreeDraft(tree.tokens, parents=tree.parents).within(deep, {token}).tree
    assert spelled(kept) == [path for path in spelled(tree) if token not in path and len(path) <= deep]


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
Text = list[int] | Callable[[tuple[int, ...]], Said]


def spoken(
    said: list[int], drafted: Text, prediction: Prediction, last: list[int] | None = None
) -> tuple[DecodingResult, Cost, Says]:
    """What a model that says one text makes of the drafts of one that says another, and what it was asked."""
    task = Task(PROMPT, last or (), frozenset([END]), 30)
    drafts = ModelDrafts(task, prediction)
    method = decode(task, drafts) if last is None else ssbd(task, EXACT, None, drafts)
    target = Says(PROMPT, script(said))
    draft = Says(PROMPT, script(drafted) if isinstance(drafted, list) else drafted)
    decoded, cost = drive(method, target, draft)
    assert decoded.tokens == tuple(said)
    return decoded, cost, target


def test_a_prediction_stops_with_a_token_of_which_the_model_is_not_sure() -> None:
    drafted = script(TEXT, {3: (0.3, 9), 6: (0.5, 9)})
    decoded, cost, target = spoken(TEXT, drafted, Prediction())
    # The step for that token is done, so that it is offered too.
    assert [tokens for tokens, _ in target.asked] == [TEXT[:4], TEXT]
    assert (cost.passes, cost.draft_passes) == (2, 4 + 4)
    assert decoded.origins[3:5] == (Origin.MODEL, Origin.OWN)


def test_a_prediction_has_its_length_at_most_and_ends_with_the_text() -> None:
    _, _, target = spoken(TEXT, TEXT, Prediction(length=3))
    assert [tokens for tokens, _ in target.asked] == [TEXT[:3], TEXT[:7], TEXT]


def test_what_was_rejected_is_drafted_again_without_a_step_where_a_new_token_meets_it() -> None:
    drafted = [1, 9, 3, 4, 5, 6, 7, 8]
    decoded, cost, _ = spoken(TEXT, drafted, Prediction())
    # Eight steps and the end; then one that says 3, and the other five come for nothing.
    assert (cost.passes, cost.draft_passes) == (2, 9 + 1)
    assert decoded.origins[2:] == (Origin.MODEL, *[Origin.RECYCLED] * 5)
    _, cost, _ = spoken(TEXT, drafted, Prediction(recycles=False))
    assert cost.draft_passes == 9 + 7


SHORT, LONG = [1, 2, 3, 4, 5, 6], [1, 9, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(("said", "drafted"), [(SHORT, LONG), (LONG, SHORT)], ids=["one more", "one less"])
def test_branches_meet_at_adjacent_places_too(said: list[int], drafted: list[int]) -> None:
    def after(output: tuple[int, ...]) -> Said:
        # Once it is told of the other token the draft model goes on rightly.
        is_right = output == tuple(said[: len(output)]) and len(output) > 1
        return script(said if is_right else drafted)(output)

    decoded, cost, _ = spoken(said, after, Prediction())
    assert Origin.RECYCLED in decoded.origins
    assert cost.passes == 2


def test_the_rejected_tail_of_the_last_output_is_the_first_branch() -> None:
    decoded, cost, _ = spoken(TEXT, TEXT, Prediction(), [1, 9, 3, 4, 5, 6, 7, 8])
    # One step says 3, which the old output has too, and that this was all.
    assert (cost.passes, cost.draft_passes) == (2, 1)
    assert decoded.origins[3] is Origin.RECYCLED


@pytest.mark.parametrize("branches", [0, 9], ids=["sequence", "tree"])
def test_the_rejected_branch_is_extended_in_the_passes_that_regenerate_until_they_meet(branches: int) -> None:
    said = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]

    def after(output: tuple[int, ...]) -> Said:
        place, is_right = len(output), output[1:2] in ((), (2,))
        wrong = {1: 20} if is_right else {2: 21, 3: 22, 4: 23}
        return Said(wrong.get(place, said[place] if place < len(said) else END))

    _, cost, target = spoken(said, after, Prediction(length=8, branches=branches))
    assert [tokens for tokens, _ in target.asked][:2] == [[1, 20, 21, 22, 23, 6, 7, 8], said[:10]]
    # Eight steps; four to the 6 where both meet, in which 9 and 10 are predicted too; and 12, and the end.
    assert cost.draft_passes == 8 + 4 + 2
    assert spoken(said, after, Prediction(length=8, recycles=False))[1].draft_passes == 8 + 8 + 2


def test_a_model_that_can_hold_no_branches_is_asked_for_none() -> None:
    task = Task(PROMPT, (), frozenset([END]), 30)
    draft = Says(PROMPT, script([1, 9, 3, 4, 5, 6, 7, 8]))
    drive(decode(task, ModelDrafts(task, Prediction(nodes=0))), Says(PROMPT, script(TEXT)), draft)
    assert not any(tree.size for _, tree in draft.asked)


def test_a_tree_branches_where_the_model_is_unsure_and_goes_on_with_the_trunk_where_it_meets() -> None:
    said = [1, 2, 9, 4, 5, 6, 7, 8]
    drafted = script(TEXT, {2: (0.3, 9), 5: (0.35, 11)})
    decoded, cost, target = spoken(said, drafted, Prediction(branches=2))
    known, tree = target.asked[0]
    assert (known, tree.tokens[: tree.trunk]) == ([], tuple(TEXT))
    # 9 in the place of 3 and 11 in that of 6; then what the trunk has behind them.
    for path in (said, [1, 2, 3, 4, 5, 11, 7, 8]):
        assert [tree.tokens[node] for node in tree.walk(path)] == path
    # The trunk and its end, and one pass for both branches together.
    assert (cost.passes, cost.draft_passes) == (1, 9 + 1)
    assert decoded.origins == (Origin.MODEL,) * 4 + (Origin.RECYCLED,) * 4


def test_a_trunk_goes_on_past_all_uncertain_places_each_of_which_has_a_branch() -> None:
    uncertain = {place: (0.3, 20 + place) for place in (1, 3, 5)}
    _, _, target = spoken(TEXT, script(TEXT, uncertain), Prediction(branches=9))
    _, tree = target.asked[0]
    assert tree.tokens[: tree.trunk] == tuple(TEXT)
    assert tree.tokens[tree.trunk : tree.trunk + 3] == (21, 23, 25)


def test_the_rejected_part_of_a_tree_is_in_the_next_one_and_branches_there_again() -> None:
    drafted = script([1, 9, 3, 4, 5, 6, 7, 8], {4: (0.3, 25)})
    _, cost, target = spoken(TEXT, drafted, Prediction(branches=9))
    known, tree = target.asked[1]
    assert (known, tree.tokens[: tree.trunk]) == (TEXT[:2], tuple(TEXT[2:]))
    assert len(tree.walk([3, 4, 25, 6, 7, 8])) == 6
    # The first tree, its branch to the 6; then one step says 3, and a new branch is as long.
    assert cost.draft_passes == (9 + 1) + (1 + 1)


def branching(**said: dict[int, Said]) -> Callable[[tuple[int, ...]], Said]:
    """Says the trunk 1, 2, 3, …; after tokens, spelled as in ``_1_20``, what is given by its place."""

    def after(output: tuple[int, ...]) -> Said:
        for begin, places in said.items():
            if output[: begin.count("_")] == tuple(map(int, begin.split("_")[1:])) and len(output) in places:
                return places[len(output)]
        return Said(len(output) + 1 if len(output) < 12 else END)

    return after


def test_a_branch_grows_however_uncertain_until_it_meets_the_trunk() -> None:
    long = {2: Said(21, 0.1, 38), 3: Said(22), 4: Said(23), 5: Said(24, 0.2, 38)}
    draft = branching(_1_20=long, _1={1: Said(2, 0.3, 20)})
    said = [1, 20, 21, 22, 23, 24, 7, 8, 9, 10, 11, 12]
    decoded, cost, _ = spoken(said, draft, Prediction(branches=9))
    # Twelve tokens and the end; then five steps to the 7 that the trunk has.
    assert (cost.passes, cost.draft_passes) == (1, 13 + 5)
    assert decoded.origins[6:] == (Origin.MODEL, *[Origin.RECYCLED] * 5)


def test_a_branch_that_meets_another_one_continues_like_it() -> None:
    one = {2: Said(21), 3: Said(22)}
    other = {3: Said(22), 4: Said(23), 5: Said(24), 6: Said(25)}
    draft = branching(_1_20=one, _1_2_30=other, _1_2={2: Said(3, 0.3, 30)}, _1={1: Said(2, 0.3, 20)})
    said = [1, 20, 21, 22, 23, 24, 25, 8, 9, 10, 11, 12]
    decoded, cost, target = spoken(said, draft, Prediction(branches=9))
    assert (cost.passes, cost.draft_passes) == (1, 13 + 5)
    assert decoded.origins[4:] == (Origin.RECYCLED,) * 8
    _, tree = target.asked[0]
    assert len(tree.walk([1, 2, 30, *said[3:]])) == 12


@pytest.mark.parametrize("nodes", [14, 22, 64])
def test_a_tree_has_so_many_nodes_and_what_branches_continue_with_comes_first(nodes: int) -> None:
    draft = branching(
        _1_20={place: Said(place + 19) for place in range(2, 12)},
        _1={1: Said(2, 0.3, 20), 4: Said(5, 0.3, 38)},
    )
    _, _, target = spoken(list(range(1, 13)), draft, Prediction(branches=9, nodes=nodes))
    _, tree = target.asked[0]
    assert tree.size == min(nodes, 12 + 11 + 8)
    assert len(tree.walk([1, 2, 3, 4, 38, 6, 7, 8, 9, 10, 11, 12])) == (5 if nodes == 14 else 12)
