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
from tests.toy import END, ToyCache

tokens = st.lists(st.integers(1, 6), max_size=12)
prompts = st.lists(st.integers(1, 6), min_size=1, max_size=8)
noises = st.floats(0.0, 2.0)


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


def task(prompt: list[int], draft: list[int], limit: int) -> Task:
    return Task(prompt, draft, frozenset([END]), limit)


@given(st.integers(1, 6), tokens, st.integers(1, 20), noises)
def test_a_certain_output_is_greedy_decodings_for_any_draft_and_any_noise_within_the_margin(
    begin: int, draft: list[int], limit: int, noise: float
) -> None:
    want = drive(retranslate(task([begin], [], limit)), PrefixSession(NoisyCache(noise)))[0]
    got = drive(certain(task([begin], draft, limit), noise), PrefixSession(NoisyCache(noise)))[0]
    assert (got.tokens, got.cut) == (want.tokens, want.cut)


@given(prompts, st.integers(2, 20))
def test_a_draft_that_is_right_is_confirmed_in_two_passes(prompt: list[int], limit: int) -> None:
    right = drive(retranslate(task(prompt, [], limit)), PrefixSession(ToyCache()))[0]
    got, cost = drive(certain(task(prompt, list(right.tokens), limit), 0.0), PrefixSession(ToyCache()))
    assert got.tokens == right.tokens
    if right.cut is None:
        # The first token is the model's own: the prompt is evaluated apart.
        assert got.accepted == max(0, len(right.tokens) - 1)
        assert cost.passes <= 2


@given(prompts, tokens, st.floats(0.0, 0.4), st.integers(1, 20))
def test_proposing_the_closing_token_changes_no_output_and_takes_no_pass_more(
    prompt: list[int], draft: list[int], bias: float, limit: int
) -> None:
    one, rule = task(prompt, draft, limit), BiasedAcceptance(bias)
    want, plain = drive(ssbd(one, rule), PrefixSession(ToyCache()))
    got, cost = drive(ssbd(one, rule, None, ClosingToken(one)), PrefixSession(ToyCache()))
    assert (got.tokens, got.cut) == (want.tokens, want.cut)
    assert cost.passes <= plain.passes


@given(prompts, tokens, st.floats(0.0, 0.4))
def test_certainty_is_the_probability_that_the_model_gave_each_token(
    prompt: list[int], draft: list[int], bias: float
) -> None:
    session = ProbabilitySession(PrefixSession(ToyCache()))
    output = drive(ssbd(task(prompt, draft, 16), BiasedAcceptance(bias)), session)[0].tokens
    rows = ToyCache().evaluate([*prompt, *output], 0, len(prompt) + len(output))
    shares = np.exp(rows) / np.exp(rows).sum(axis=1, keepdims=True)
    want = [float(shares[len(prompt) - 1 + place, token]) for place, token in enumerate(output)]

    got = [session.of(len(prompt) + place, token) for place, token in enumerate(output)]
    assert got == pytest.approx(want, rel=1e-4)


tokens = st.lists(st.integers(1, 6), max_size=10)
prompts = st.lists(st.integers(1, 6), min_size=1, max_size=6)
shares = st.floats(0.0, 1.0)


def run(task: Task, doubt: Doubt | None) -> tuple[DecodingResult, Cost, ProbabilitySession]:
    session = ProbabilitySession(PrefixSession(ToyCache()))
    method = ssbd(task, BiasedAcceptance(0.2), None, ClosingToken(task))
    decoded, cost = drive(
        method if doubt is None else until_doubtful(method, task, doubt, session.of), session
    )
    return decoded, cost, session


def even(token: int) -> bool:
    return token % 2 == 0


@given(prompts, tokens, shares, st.integers(0, 12))
def test_it_ends_with_a_doubtful_token_or_as_it_would_have(
    prompt: list[int], draft: Sequence[int], least: float, begin: int
) -> None:
    task = Task(prompt, draft, frozenset([END]), 24)
    whole, most, _ = run(task, None)
    got, cost, session = run(task, Doubt(least, begin, even))
    assert got.tokens == whole.tokens[: len(got.tokens)]
    assert cost.passes <= most.passes
    if got.is_whole:
        assert got == whole
    else:
        place = len(got.tokens) - 1
        assert place >= begin
        assert even(got.tokens[-1])
        assert session.of(len(prompt) + place, got.tokens[-1]) < least
        assert cost.passes < most.passes
