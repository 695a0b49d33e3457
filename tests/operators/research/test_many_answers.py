"""Answers to many prompts at a time are those that each prompt gets alone."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from operators.decoding.ssbd import retranslate
from operators.research.heads import StateSolver, without_bias
from operators.research.many_answers import given_answer, many_answers
from tests.toy import END, ToyCache, ToyStore, run, toy_task

ROWS = np.random.default_rng(0).normal(size=(7, 3)).astype(np.float32)
SOLVER = StateSolver(without_bias(np.arange(7, dtype=np.int32), ROWS))
prompts = st.lists(st.lists(st.integers(1, 6), min_size=1, max_size=5), max_size=8)
heads = st.lists(st.integers(1, 6), max_size=3)


@given(heads, prompts, st.integers(1, 4), st.integers(1, 12))
def test_answers_are_greedy_decoding_s(
    head: list[int], prompts: list[list[int]], sequences: int, limit: int
) -> None:
    tasks = [toy_task([*head, *prompt], limit=limit) for prompt in prompts]
    store = ToyStore(sequences + 1)
    found = dict(many_answers(store, head, tasks, SOLVER, sequences))
    assert sorted(found) == list(range(len(tasks)))
    for number, task in enumerate(tasks):
        decoded, _ = run(retranslate(task))
        tokens, states = found[number]
        # The token that ends an answer is told too.
        assert tuple(tokens[: len(decoded.tokens)]) == decoded.tokens
        assert tokens[len(decoded.tokens) :] in ([], [END]) or decoded.cut is not None
        assert states.shape == (len(tokens), 3)
        row = ToyCache().evaluate(task.prompt, 0, 1)
        assert np.allclose(states[0], SOLVER.states(row[0]), atol=1e-4)
        # Given as a known answer it has the same states, in a single pass.
        assert np.allclose(given_answer(store, head, task, tokens, SOLVER).states, states, atol=1e-4)
