"""What a committed prefix may change, and what not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.decoding.acceptance import BiasedAcceptance
from operators.decoding.ssbd import continuous, ssbd
from operators.decoding.translator import CommitRule, count_passes
from tests.toy import ToyCache, prompts, run, tokens, toy_task


@given(prompts, tokens, st.integers(0, 10))
def test_committed_tokens_stand_and_ask_for_no_logits(
    prompt: list[int], draft: list[int], count: int
) -> None:
    cache, count = ToyCache(), min(count, len(draft))
    task = toy_task(prompt, draft, 20)._replace(committed=count)
    decoded, cost = run(ssbd(task, BiasedAcceptance(0.2)), cache)
    assert list(decoded.tokens[:count]) == draft[: len(decoded.tokens)][:count]
    # The first pass judges the rest of the draft; each pass has a row for the token after what it holds.
    assert cache.rows == len(draft) - count + cost.passes


@given(prompts, tokens)
def test_continuous_decoding_never_revises_and_looks_at_no_draft_token(
    prompt: list[int], draft: list[int]
) -> None:
    cache = ToyCache()
    decoded, cost = run(continuous(toy_task(prompt, draft, 20)), cache)
    assert list(decoded.tokens[: len(draft)]) == draft[: len(decoded.tokens)]
    assert cache.rows == cost.passes


def test_a_token_counts_the_passes_that_accepted_it() -> None:
    counts = count_passes((2, 1, 0), 1, 4, 6)
    assert counts == (2, 2, 1, 1, 0, 0)
    assert CommitRule(2).committed(counts, [7, 8, 9], [7, 8, 9]) == 2


@pytest.mark.parametrize(("source", "committed"), [([*range(11)], 10), ([*range(5), 99], 5), ([99], 0)])
def test_a_revised_source_uncommits_what_was_translated_from_the_revised_place_on(
    source: list[int], committed: int
) -> None:
    assert CommitRule(1).committed((1,) * 10, [*range(10)], source) == committed
