"""The model's own opinion of an output, on the toy model."""

import numpy as np
import pytest

from flows.bench.likelihood import Likelihood
from flows.bench.runner import run_trials
from operators.models.pool import SessionPool
from operators.prompts.prompt import EndOfTurn, Prompt
from tests.flows.bench.test_runner import CORPUS, masks, texts, translators
from tests.toy import ToyCache, ToyStore, ToyVocabulary


def judge(max_source: int = 50) -> Likelihood:
    vocabulary = ToyVocabulary()
    prompt = Prompt(vocabulary, (1, 2), " ", (3,), EndOfTurn(vocabulary))
    return Likelihood(prompt, SessionPool(ToyStore(2), prompt.head, 1), max_source)


def test_an_output_has_the_probability_of_its_tokens_one_after_the_other() -> None:
    likelihood = judge()
    vocabulary = ToyVocabulary()
    prompt = Prompt(vocabulary, (1, 2), " ", (3,), EndOfTurn(vocabulary))
    tokens = list(prompt.build(prompt.source("a b"), is_final=True))
    want = 0.0
    for token in (4, 2, 5):
        row = ToyCache().evaluate(tokens, 0, 1)[-1].astype(np.float64)
        want -= float(row[token] - np.log(np.exp(row).sum()))
        tokens.append(token)
    assert likelihood.nats("a b", (4, 2, 5), is_final=True) == pytest.approx(want, rel=1e-4)
    likelihood.release()


def test_what_cannot_be_judged_is_left_out() -> None:
    likelihood = judge(max_source=1)
    assert likelihood.nats("a b", (), is_final=True) is None
    assert likelihood.nats("  ", (4,), is_final=True) is None
    assert likelihood.nats("a b c a b c", (4,), is_final=True) is None


def test_to_be_judged_changes_no_output_and_is_done_once() -> None:
    plain = list(run_trials(CORPUS, translators(), 2, masks(), set()))
    judged = list(run_trials(CORPUS, translators(), 2, masks(), set(), likelihood=judge()))
    assert texts(judged) == texts(plain)
    nats = [[update.nats for each in trial.updates for update in each if update.tokens] for trial in judged]
    assert all(one is not None and one >= 0 for trial in nats[:3] for one in trial)
    assert all(one is None for trial in nats[3:] for one in trial)
