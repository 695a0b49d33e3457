"""What a committed prefix may change, and what not."""

from hypothesis import given
from hypothesis import strategies as st

from operators.decoding.acceptance import BiasedAcceptance
from operators.decoding.drive import OneAtATime, drive
from operators.decoding.forward import Forward, Task
from operators.decoding.session import PrefixSession
from operators.decoding.ssbd import continuous, ssbd
from operators.decoding.translator import (
    CommitRule,
    Output,
    SegmentState,
    Translator,
    TranslatorSettings,
    count_passes,
)
from operators.models.pool import SessionPool
from operators.prompts.prompt import EndOfTurn, Prompt
from tests.toy import END, ToyCache, ToyStore, ToyVocabulary

texts = st.lists(st.text("ab c", max_size=20), min_size=1, max_size=6)
tokens = st.lists(st.integers(1, 6), max_size=10)


def outputs(updates: list[str], commit: CommitRule, bias: float = 0.2, *, keep: bool = False) -> list[Output]:
    vocabulary = ToyVocabulary()
    prompt = Prompt(vocabulary, (1, 2), " ", (3,), EndOfTurn(vocabulary))
    pool = SessionPool(ToyStore(3), prompt.head, 2)
    acceptance = BiasedAcceptance(bias)
    settings = TranslatorSettings(max_source=50, max_output=40, commit=commit, keep=keep)
    model = Translator(prompt, OneAtATime(pool), lambda task: ssbd(task, acceptance), settings)
    state, results = SegmentState(), []
    for number, text in enumerate(updates):
        state, output = model.update("s", state, text, is_final=number == len(updates) - 1)
        results.append(output)
    return results


@given(texts)
def test_where_every_draft_token_stands_committing_changes_nothing(updates: list[str]) -> None:
    plain = outputs(updates, CommitRule(0), bias=1.0)
    assert [one.tokens for one in outputs(updates, CommitRule(1), bias=1.0)] == [one.tokens for one in plain]


@given(texts)
def test_where_a_session_cannot_keep_tokens_all_of_them_are_evaluated(updates: list[str]) -> None:
    kept, anew = (outputs(updates, CommitRule(1), keep=keep) for keep in (True, False))
    assert [(one.tokens, one.effort.evaluated) for one in kept] == [
        (one.tokens, one.effort.evaluated) for one in anew
    ]


@given(st.lists(st.integers(1, 6), min_size=1, max_size=6), tokens, st.integers(0, 10))
def test_committed_tokens_stand_and_ask_for_no_logits(
    prompt: list[int], draft: list[int], count: int
) -> None:
    task = Task(prompt, draft, frozenset([END]), 20, committed=min(count, len(draft)))
    requests: list[Forward] = []
    cache = ToyCache()

    class Watching(PrefixSession):
        def forward(self, request: Forward):  # type: ignore[no-untyped-def]  # as in PrefixSession
            requests.append(Forward(list(request.tokens), request.logits_from))
            return super().forward(request)

    decoded, _ = drive(ssbd(task, BiasedAcceptance(0.2)), Watching(cache))
    assert list(decoded.tokens[: task.committed]) == draft[: len(decoded.tokens)][: task.committed]
    assert requests[0].logits_from == len(prompt) - 1 + task.committed


@given(st.lists(st.integers(1, 6), min_size=1, max_size=6), tokens)
def test_continuous_decoding_never_revises_and_looks_at_no_draft_token(
    prompt: list[int], draft: list[int]
) -> None:
    cache = ToyCache()
    decoded, cost = drive(continuous(Task(prompt, draft, frozenset([END]), 20)), PrefixSession(cache))
    assert list(decoded.tokens[: len(draft)]) == draft[: len(decoded.tokens)]
    assert cache.rows == cost.passes


def test_a_token_counts_the_passes_that_accepted_it() -> None:
    counts = count_passes((2, 1, 0), 1, 4, 6)
    assert counts == (2, 2, 1, 1, 0, 0)
    assert CommitRule(2).committed(counts, [7, 8, 9], [7, 8, 9]) == 2


def test_a_revised_source_uncommits_what_was_translated_from_the_revised_place_on() -> None:
    rule = CommitRule(1)
    stood = (1,) * 10
    source = list(range(10))
    assert rule.committed(stood, source, [*source, 10]) == 10
    assert rule.committed(stood, source, [*source[:5], 99]) == 5
    assert rule.committed(stood, source, [99]) == 0
