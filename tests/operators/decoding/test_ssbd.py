"""What SSBD promises, proved on a toy model whose output depends on every token of its prefix."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from operators.decoding.acceptance import Acceptance, BiasedAcceptance, UtilityAcceptance
from operators.decoding.ssbd import retranslate, ssbd
from tests.toy import prompts, run, tokens, toy_task

biases = st.floats(0.0, 1.0)


@given(prompts, tokens, st.integers(1, 20))
def test_without_bias_ssbd_returns_what_retranslation_returns_for_any_draft_in_no_more_passes(
    prompt: list[int], draft: list[int], limit: int
) -> None:
    want, most = run(retranslate(toy_task(prompt, limit=limit)))
    got, cost = run(ssbd(toy_task(prompt, draft, limit), BiasedAcceptance(0.0)))
    assert (got.tokens, got.cut) == (want.tokens, want.cut)
    assert cost.passes <= most.passes


@given(prompts, tokens, biases, st.integers(1, 12), st.integers(1, 20), st.integers(0, 5))
def test_a_draft_that_is_verified_in_blocks_gives_the_same(
    prompt: list[int], draft: list[int], bias: float, block: int, limit: int, committed: int
) -> None:
    task = toy_task(prompt, draft, limit)._replace(committed=committed)
    want, _ = run(ssbd(task, BiasedAcceptance(bias)))
    assert run(ssbd(task, BiasedAcceptance(bias), block))[0] == want


@given(prompts, tokens, st.floats(0.5, 1.0))
def test_from_one_half_on_the_whole_draft_is_kept_in_one_pass(
    prompt: list[int], draft: list[int], bias: float
) -> None:
    got, cost = run(ssbd(toy_task(prompt, draft), BiasedAcceptance(bias)))
    assert list(got.tokens[: len(draft)]) == draft
    assert got.accepted == got.drafted == len(draft)
    assert cost.passes == 1 + max(0, len(got.tokens) - len(draft) - (1 if got.cut else 0))


@given(prompts, tokens, biases.map(BiasedAcceptance) | st.floats(0.0, 8.0).map(UtilityAcceptance))
def test_an_output_begins_with_what_stands_and_is_a_fixed_point(
    prompt: list[int], draft: list[int], rule: Acceptance
) -> None:
    first, _ = run(ssbd(toy_task(prompt, draft), rule))
    assert list(first.tokens[: first.accepted]) == draft[: first.accepted]
    again, _ = run(ssbd(toy_task(prompt, first.tokens), rule))
    assert again.tokens == first.tokens


@given(st.integers(0, 6), st.floats(0.01, 0.49), st.integers(0, 2**32 - 1))
def test_the_rule_is_greedy_decoding_from_the_biased_mixture(draft: int, bias: float, seed: int) -> None:
    row = np.random.default_rng(seed).normal(scale=2, size=7).astype(np.float32)
    best = int(row.argmax())
    p = np.exp(row.astype(np.float64)) / np.exp(row.astype(np.float64)).sum()
    mixture = (1 - bias) * p
    mixture[draft] += bias
    margin = mixture[draft] - mixture[best]
    if draft != best and abs(margin) > 1e-6:
        assert BiasedAcceptance(bias).accepts(row, best, draft) == (margin > 0)
