"""What a draft model drafts, step by step: where it stops, what it uses again, where it branches."""

import pytest

from operators.decoding.acceptance import EXACT
from operators.decoding.blockwise import decode
from operators.decoding.drive import Cost, drive
from operators.decoding.forward import Decoded, Origin, Task
from operators.decoding.ssbd import ssbd
from operators.decoding.tree import TokenTree
from operators.research.draft_model import ModelDrafts, Prediction
from tests.says import END, Said, Says, script

PROMPT = [30, 31]
TEXT = [1, 2, 3, 4, 5, 6, 7, 8]


def run(
    target: Says, draft: Says, prediction: Prediction, last: list[int] | None = None
) -> tuple[Decoded, Cost]:
    task = Task(PROMPT, last or (), frozenset([END]), 30)
    second = ModelDrafts(task, prediction)
    method = decode(task, second) if last is None else ssbd(task, EXACT, None, second)
    return drive(method, target, draft)


def offered(target: Says) -> list[list[int]]:
    """What each pass was offered after the known tokens, without branches."""
    return [tokens for tokens, _ in target.asked]


def test_a_prediction_stops_with_a_token_of_which_the_model_is_not_sure() -> None:
    target, draft = Says(PROMPT, script(TEXT)), Says(PROMPT, script(TEXT, {3: (0.3, 9), 6: (0.5, 9)}))
    decoded, cost = run(target, draft, Prediction())
    assert decoded.tokens == tuple(TEXT)
    # The step for that token is done, so that it is offered too.
    assert offered(target) == [TEXT[:4], TEXT]
    assert (cost.passes, cost.draft_passes) == (2, 4 + 4)
    assert decoded.origins[3:5] == (Origin.MODEL, Origin.OWN)


def test_a_prediction_has_its_length_at_most_and_ends_with_the_text() -> None:
    target, draft = Says(PROMPT, script(TEXT)), Says(PROMPT, script(TEXT))
    run(target, draft, Prediction(length=3))
    assert offered(target) == [TEXT[:3], TEXT[:7], TEXT]


def test_what_was_rejected_is_drafted_again_without_a_step_where_a_new_token_meets_it() -> None:
    said = [1, 2, 3, 4, 5, 6, 7, 8]
    drafted = [1, 9, 3, 4, 5, 6, 7, 8]
    target, draft = Says(PROMPT, script(said)), Says(PROMPT, script(drafted))
    decoded, cost = run(target, draft, Prediction())
    assert decoded.tokens == tuple(said)
    # Eight steps and the end; then one that says 3, and the other five come for nothing.
    assert (cost.passes, cost.draft_passes) == (2, 9 + 1)
    assert decoded.origins[2:] == (Origin.MODEL, *[Origin.RECYCLED] * 5)
    again, more = run(Says(PROMPT, script(said)), Says(PROMPT, script(drafted)), Prediction(recycles=False))
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

    decoded, cost = run(Says(PROMPT, script(said)), Says(PROMPT, after), Prediction())
    assert decoded.tokens == tuple(said)
    assert Origin.RECYCLED in decoded.origins
    assert cost.passes == 2


def test_the_rejected_tail_of_the_last_output_is_the_first_branch() -> None:
    target, draft = Says(PROMPT, script(TEXT)), Says(PROMPT, script(TEXT))
    decoded, cost = run(target, draft, Prediction(), [1, 9, 3, 4, 5, 6, 7, 8])
    assert decoded.tokens == tuple(TEXT)
    # A step says 3; the rest is the old output's, and a last step says that this was all.
    assert (cost.passes, cost.draft_passes) == (2, 2)
    assert decoded.origins[3] is Origin.RECYCLED


def test_a_tree_branches_where_the_model_is_unsure_and_goes_on_with_the_trunk_where_it_meets() -> None:
    said = [1, 2, 9, 4, 5, 6, 7, 8]
    drafted = script(TEXT, {2: (0.3, 9), 5: (0.35, 11)})
    target, draft = Says(PROMPT, script(said)), Says(PROMPT, drafted)
    decoded, cost = run(target, draft, Prediction(branches=2))
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
    run(target, draft, Prediction(branches=2, reach=1))
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
    decoded, cost = run(target, draft, Prediction(branches=2))
    assert decoded.tokens == tuple(said)
    assert cost.passes > 1
    assert all(tree == TokenTree() or tree.is_chain for _, tree in target.asked)
