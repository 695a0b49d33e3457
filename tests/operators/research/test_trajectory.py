"""Trajectories tell what sessions would have done, and cost what their passes cost."""

from collections.abc import Callable
from contextlib import ExitStack

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from operators.decoding.blockwise import decode
from operators.decoding.drafts import Drafter
from operators.decoding.drive import drive
from operators.decoding.forward import Task
from operators.decoding.pass_cost import PassCosts
from operators.decoding.session import PrefixSession
from operators.decoding.ssbd import retranslate
from operators.models.pool import SessionPool
from operators.research.draft_model import ModelDrafts, Prediction
from operators.research.trajectory import (
    Memory,
    RememberedSession,
    Round,
    Trajectory,
    autoregressive,
    ranks,
    record,
    replay,
)
from operators.research.tree_draft import TwoBeams
from tests.toy import ScriptedCache, ToyCache, ToyStore, prompts, row_of, run, toy_task

Make = Callable[[Task], Drafter]
drafters = st.one_of(
    st.builds(
        Prediction,
        length=st.integers(1, 8),
        threshold=st.floats(0.0, 0.9),
        recycles=st.booleans(),
        branches=st.integers(0, 3),
    ).map(lambda prediction: lambda task: ModelDrafts(task, prediction)),
    st.integers(1, 6).map(lambda length: lambda task: TwoBeams(task, length)),
)


def remembered(prompt: list[int]) -> tuple[RememberedSession, RememberedSession]:
    return (
        RememberedSession(Memory(PrefixSession(ToyCache()), prompt)),
        RememberedSession(Memory(PrefixSession(ToyCache(error=0.3)), prompt)),
    )


@given(prompts, drafters)
def test_what_is_remembered_decodes_as_the_models_themselves(prompt: list[int], drafter: Make) -> None:
    task = toy_task(prompt, limit=30)
    want, _ = run(retranslate(task))
    with ExitStack() as stack:
        pools = [SessionPool(ToyStore(18, error=error), (), 1, branches=16) for error in (0.0, 0.3)]
        real = [stack.enter_context(pool.session("a")) for pool in pools]
        one, cost = drive(decode(task, drafter(task)), *real)
    other, counted = drive(decode(task, drafter(task)), *remembered(prompt))
    assert one.tokens == other.tokens == want.tokens
    assert (cost.passes, cost.draft_passes) == (counted.passes, counted.draft_passes)
    # It begins with the prompt in its cache, of which the last token is evaluated all the same.
    assert counted.evaluated == cost.evaluated - (len(prompt) - 1)


@given(prompts, drafters)
@example([1, 1, 3, 5, 3], lambda task: ModelDrafts(task, Prediction(length=4, threshold=0.75, branches=3)))
def test_the_rounds_of_a_trajectory_add_up_to_the_output(prompt: list[int], drafter: Make) -> None:
    task = toy_task(prompt, limit=30)
    decoded, rounds = record(decode(task, drafter(task)), task, *remembered(prompt))
    own = len(decoded.tokens) - sum(one.accepted for one in rounds)
    assert len(rounds) - 1 <= own <= len(rounds)
    assert sum(one.accepted for one in rounds) == decoded.taken
    assert sum(one.drafted for one in rounds) == decoded.proposed
    # The runner-up of a recycled step is the draft model's choice, but needs no step of this round.
    assert all(one.stepped <= min(one.accepted, len(one.steps) + 1) for one in rounds)
    assert all(one.drafted < one.evaluated for one in rounds)


def test_a_replay_costs_what_its_passes_cost() -> None:
    rounds = (Round((1, 1, 1), 3, 4, 2, 2), Round((2,), 1, 2, 1, 1))
    some = [Trajectory("plain", 4, rounds)]
    draft, target = PassCosts((1, 2), (1.0, 1.5)), PassCosts((1, 4), (10.0, 16.0))
    spent = replay(some, draft, target)
    assert spent == (3 * 1.0 + 1.5, 16.0 + 12.0)
    assert spent.draft + spent.target == pytest.approx(32.5)
    assert autoregressive(some, target) == 50.0


def test_the_rank_of_a_token_is_its_place_among_the_predictions() -> None:
    memory = Memory(PrefixSession(ScriptedCache(lambda _: row_of(5, {1: 3.0, 2: 2.0, 3: 1.0}))), [1])
    # Token 5 is one that the draft model does not have.
    assert ranks((1, 2, 3, 5), memory) == [1, 2, 3, 6]
    assert ranks((), memory) == []
