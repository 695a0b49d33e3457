"""Speech in growing windows: exact finals, and partials that end with the first doubtful word."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.decoding.acceptance import BiasedAcceptance
from operators.decoding.drive import Cost, drive
from operators.decoding.forward import DecodingResult, Logits, Task
from operators.decoding.session import PrefixSession
from operators.decoding.speech import ClosingToken, Doubt, ProbabilitySession, certain, until_doubtful
from operators.decoding.ssbd import retranslate, ssbd
from tests.toy import ToyCache, prompts, run, tokens, toy_task


class NoisyCache(ToyCache):
    """Logits of passes over more than one token are off by up to half of ``noise``."""

    def __init__(self, noise: float) -> None:
        super().__init__()
        self._noise = noise

    def evaluate(self, tokens: Sequence[int], start: int, rows: int) -> Logits:
        logits = super().evaluate(tokens, start, rows)
        if len(tokens) == 1:
            return logits
        random = np.random.default_rng([start, *tokens])
        return logits + self._noise * random.uniform(-0.5, 0.5, logits.shape).astype(np.float32)


@given(st.integers(1, 6), tokens, st.integers(1, 20), st.floats(0.0, 2.0))
def test_a_certain_output_is_greedy_decodings_for_any_draft_and_any_noise_within_the_margin(
    begin: int, draft: list[int], limit: int, noise: float
) -> None:
    want, _ = run(retranslate(toy_task([begin], limit=limit)), NoisyCache(noise))
    got, _ = run(certain(toy_task([begin], draft, limit), noise), NoisyCache(noise))
    assert (got.tokens, got.cut) == (want.tokens, want.cut)


@given(prompts, st.integers(2, 20))
def test_a_draft_that_is_right_is_confirmed_in_two_passes(prompt: list[int], limit: int) -> None:
    right, _ = run(retranslate(toy_task(prompt, limit=limit)))
    got, cost = run(certain(toy_task(prompt, right.tokens, limit), 0.0))
    assert got.tokens == right.tokens
    if right.cut is None:
        # The first token is the model's own: the prompt is evaluated apart.
        assert got.accepted == max(0, len(right.tokens) - 1)
        assert cost.passes <= 2


@given(prompts, tokens, st.floats(0.0, 0.4), st.integers(1, 20))
def test_proposing_the_closing_token_changes_no_output_and_takes_no_pass_more(
    prompt: list[int], draft: list[int], bias: float, limit: int
) -> None:
    task, rule = toy_task(prompt, draft, limit), BiasedAcceptance(bias)
    want, plain = run(ssbd(task, rule))
    got, cost = run(ssbd(task, rule, None, ClosingToken(task)))
    assert (got.tokens, got.cut) == (want.tokens, want.cut)
    assert cost.passes <= plain.passes


def until(task: Task, doubt: Doubt | None = None) -> tuple[DecodingResult, Cost, ProbabilitySession]:
    session = ProbabilitySession(PrefixSession(ToyCache()))
    method = ssbd(task, BiasedAcceptance(0.2), None, ClosingToken(task))
    if doubt is not None:
        method = until_doubtful(method, task, doubt, session.of)
    return *drive(method, session), session


@given(prompts, tokens)
def test_certainty_is_the_probability_that_the_model_gave_each_token(
    prompt: list[int], draft: list[int]
) -> None:
    decoded, _, session = until(toy_task(prompt, draft))
    output, first = decoded.tokens, len(prompt)
    rows = ToyCache().evaluate([*prompt, *output], 0, first + len(output))
    shares = np.exp(rows) / np.exp(rows).sum(axis=1, keepdims=True)
    want = [float(shares[first - 1 + place, token]) for place, token in enumerate(output)]
    assert [session.of(first + place, token) for place, token in enumerate(output)] == pytest.approx(
        want, 1e-4
    )


@given(prompts, tokens, st.floats(0.0, 1.0), st.integers(0, 12))
def test_it_ends_with_a_doubtful_token_or_as_it_would_have(
    prompt: list[int], draft: list[int], least: float, begin: int
) -> None:
    task = toy_task(prompt, draft, 24)
    whole, most, _ = until(task)
    got, cost, session = until(task, Doubt(least, begin, lambda token: token % 2 == 0))
    assert got.tokens == whole.tokens[: len(got.tokens)]
    assert cost.passes <= most.passes
    if got.is_whole:
        assert got == whole
    else:
        place = len(got.tokens) - 1
        assert place >= begin
        assert got.tokens[-1] % 2 == 0
        assert session.of(len(prompt) + place, got.tokens[-1]) < least
        assert cost.passes < most.passes
