"""A beam search finds what a search without a cache finds, alone or in passes shared with others."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.decoding.acceptance import EXACT, UtilityAcceptance
from operators.decoding.adjustment import adjusted
from operators.decoding.drive import Decode, drive
from operators.decoding.forward import DecodingResult, Logits, Task
from operators.decoding.session import PrefixSession
from operators.decoding.ssbd import retranslate, ssbd
from operators.models.pool import SessionPool
from operators.serving.scheduler import Scheduler
from operators.trouble import Trouble
from tests.toy import END, ToyCache, ToyStore

HEAD = [1, 2]
prompts = st.lists(st.integers(1, 6), min_size=1, max_size=6)
drafts = st.lists(st.integers(1, 6), max_size=8)
widths = st.integers(2, 4)
limits = st.integers(1, 14)


def make_task(prompt: list[int], draft: list[int], limit: int) -> Task:
    return Task([*HEAD, *prompt], draft, frozenset([END]), limit, source=prompt)


def log_probabilities(tokens: list[int]) -> Logits:
    row = ToyCache().evaluate(tokens, 0, 1)[0].astype(np.float64)
    return row - np.log(np.exp(row).sum())  # type: ignore[no-any-return]


def searched(task: Task, output: list[int], width: int) -> list[int] | None:
    """The search in its simplest form: every hypothesis is evaluated from scratch."""
    ended: dict[tuple[int, ...], float] = {}
    live: dict[tuple[int, ...], float] = {(): 0.0}
    while True:
        longer: dict[tuple[int, ...], float] = {}
        for one, score in live.items():
            row = log_probabilities([*task.prompt, *output, *one])
            if row.argmax() == END:
                ended[(*one, END)] = (score + row[END]) / (len(one) + 1)
            longer |= {(*one, token): score + row[token] for token in range(len(row)) if token != END}
        live = {}
        for one in sorted(longer, key=lambda one: -longer[one]):
            is_near = not live or longer[one] > max(live.values()) - 1.0
            if is_near and one[-2:] not in [other[-2:] for other in live] and len(live) < width:
                live[one] = longer[one]
        best = max(ended, key=lambda one: ended[one], default=())
        if ended and ended[best] >= max(score / len(one) for one, score in live.items()):
            return list(best[:-1])
        if len(output) + len(next(iter(live))) >= task.limit:
            return list(best[:-1]) if ended else None


def pool_of(store: ToyStore, sessions: int, width: int, least_kept: int | None = None) -> SessionPool:
    return SessionPool(store, HEAD, sessions, beams=width, least_kept=least_kept)


@given(st.lists(st.tuples(prompts, drafts, limits), min_size=1, max_size=4), widths)
def test_what_follows_the_accepted_draft_is_the_result_of_the_search(
    given_tasks: list[tuple[list[int], list[int], int]], width: int
) -> None:
    pool = pool_of(ToyStore(2 + width), 1, width)
    for prompt, draft, limit in given_tasks:
        task = make_task(prompt, draft, limit)
        with pool.session("a") as session:
            greedy, _ = drive(ssbd(task, UtilityAcceptance(0.6)), PrefixSession(ToyCache()))
            got, _ = drive(ssbd(task, UtilityAcceptance(0.6), beam=width), session)
        if got.cut is Trouble.REPETITION or greedy.cut is Trouble.REPETITION:
            continue
        kept = list(got.tokens[: got.accepted])
        assert got.accepted == greedy.accepted
        if got.accepted < limit and len(greedy.tokens) > got.accepted:
            found = searched(task, kept, width)
            assert list(got.tokens) == (list(greedy.tokens) if found is None else [*kept, *found])


@given(st.lists(st.tuples(st.sampled_from("abc"), prompts, drafts), min_size=1, max_size=8), widths)
def test_tasks_that_share_passes_get_what_each_gets_alone(
    asked: list[tuple[str, list[int], list[int]]], width: int
) -> None:
    store = ToyStore(4 + 3 * width)
    scheduler = Scheduler(pool_of(store, 3, width), fill=64)
    alone = pool_of(ToyStore(2 + width), 1, width)
    for start in range(0, len(asked), 3):
        turn = {key: make_task(prompt, draft, 12) for key, prompt, draft in asked[start : start + 3]}
        jobs = {
            key: scheduler.add(Decode(key, ssbd(task, EXACT, beam=width), is_final=True))
            for key, task in turn.items()
        }
        while not all(job.has_ended for job in jobs.values()):
            scheduler.step()
        for key, task in turn.items():
            with alone.session(key) as session:
                want, _ = drive(ssbd(task, EXACT, beam=width), session)
            assert jobs[key].result[0].tokens == want.tokens


@given(prompts, st.integers(2, 14))
def test_a_session_that_holds_one_continuation_decodes_greedily(prompt: list[int], limit: int) -> None:
    task = make_task(prompt, [], limit)
    want, _ = drive(retranslate(task), PrefixSession(ToyCache()))
    got, _ = drive(ssbd(task, EXACT, beam=3), PrefixSession(ToyCache()))
    assert got.tokens == want.tokens


@given(st.lists(st.tuples(prompts, st.booleans()), min_size=3, max_size=3), widths)
def test_where_many_wait_only_finals_are_searched(asked: list[tuple[list[int], bool]], width: int) -> None:
    store = ToyStore(4 + 3 * width)
    scheduler = Scheduler(pool_of(store, 3, width), fill=64)
    tasks = [make_task(prompt, [], 12) for prompt, _ in asked]
    # All of them wait for their first pass when the last one is added.
    jobs = [
        scheduler.add(Decode(f"{number}", ssbd(task, EXACT, beam=width), is_final=is_final))
        for number, (task, (_, is_final)) in enumerate(zip(tasks, asked, strict=True))
    ]
    scheduler.step()
    while not all(job.has_ended for job in jobs):
        scheduler.step()
    alone = pool_of(ToyStore(2 + width), 1, width)
    for job, task, (_, is_final) in zip(jobs, tasks, asked, strict=True):
        with alone.session("a") as session:
            want, _ = drive(ssbd(task, EXACT, beam=width if is_final else 1), session)
        assert job.result[0].tokens == want.tokens


@given(prompts, drafts)
def test_a_rule_that_changes_the_model_holds_in_every_hypothesis(prompt: list[int], draft: list[int]) -> None:
    task = make_task(prompt, draft, 12)

    def forbid(row: Logits, output: tuple[int, ...]) -> None:
        row[3] = -np.inf
        if output and output[-1] == 4:
            row[5] = -np.inf

    with pool_of(ToyStore(5), 1, 3).session("a") as session:
        got, _ = drive(adjusted(ssbd(task, EXACT, beam=3), task, forbid), session)
    assert 3 not in got.tokens
    assert (4, 5) not in set(zip(got.tokens, got.tokens[1:], strict=False))


def test_the_next_update_finds_the_chosen_continuation_in_the_cache() -> None:
    store = ToyStore(5)
    pool = pool_of(store, 1, 3)
    task = make_task([3, 5, 1], [], 12)
    with pool.session("a") as session:
        said, _ = drive(ssbd(task, EXACT, beam=3), session)
        assert len(said.tokens) > 3
        again = task._replace(draft=said.tokens, committed=len(said.tokens))
        _, cost = drive(ssbd(again, EXACT), session)
    assert cost.reused >= len(task.prompt) + 2


@given(st.integers(12, 32), st.booleans())
def test_a_search_says_a_long_phrase_again_only_after_a_speaker(length: int, repeats_himself: bool) -> None:
    phrase, way_out = list(range(1, length + 1)), length + 1

    class Looping(ToyCache):
        """Begins the phrase again and again, a little rather than to end."""

        def _row(self, prefix: Sequence[int]) -> Logits:
            row = np.full(length + 2, -9.0, np.float32)
            said = list(prefix[len(task.prompt) :])
            row[END if said[-1:] == [way_out] else phrase[len(said) % length]] = 2.0
            row[way_out] = 1.9 if len(said) % length == 0 else -9.0
            return row

    source = phrase * 2 if repeats_himself else phrase
    task = Task([*HEAD, 1], (), frozenset([END]), 3 * length, source=source)
    store = ToyStore(4)
    store.caches = [Looping() for _ in store.caches]
    with pool_of(store, 1, 2).session("a") as session:
        got, _ = drive(ssbd(task, EXACT, beam=2), session)
    assert list(got.tokens) == [*source, way_out]


SPELLED = [b"", b" It was bad", b".", b",", b" it was bad", b" good", b"", b""]


@pytest.mark.parametrize("committed", [0, 2])
def test_a_draft_that_the_model_would_say_again_gives_way(committed: int) -> None:
    """The draft says it with a full stop, where the model, now that it has heard more, has a comma."""

    class Insisting(ToyCache):
        """Says what is bad with a small letter, behind a draft that says it with a capital too."""

        def _row(self, prefix: Sequence[int]) -> Logits:
            follows = {5: 3, 3: 4, 4: 2, 1: 3, 2: 4 if 1 in prefix[len(task.prompt) :] else END}
            row = np.full(len(SPELLED), -9.0, np.float32)
            row[follows.get(prefix[-1], 5)] = 2.0
            return row

    task = Task([*HEAD, 6], [5, 2, 1], frozenset([END]), 9, committed, committed, source=[6])
    task = task._replace(piece=SPELLED.__getitem__)

    def decoded(source: list[int]) -> DecodingResult:
        store = ToyStore(4)
        store.caches = [Insisting() for _ in store.caches]
        with pool_of(store, 1, 2).session("a") as session:
            return drive(ssbd(task._replace(source=source), UtilityAcceptance(20.0), beam=2), session)[0]

    got = decoded([6])
    assert got.tokens == (5, 3, 4, 2)
    assert (got.drafted, got.accepted, got.doubted) == (3, 1, None)
    # A speaker who says it again has it said again.
    assert decoded([6, 6]).tokens[:5] == (5, 2, 1, 3, 4)


def test_hypotheses_that_have_come_to_the_same_words_go_on_as_one() -> None:
    said = [3, 4, 5, 6, 7]

    class Hesitating(ToyCache):
        """Begins with either of two words, and has no doubt about all that follows."""

        def _row(self, prefix: Sequence[int]) -> Logits:
            row = np.full(8, -9.0, np.float32)
            output = prefix[len(task.prompt) :]
            row[[1, 2] if not output else [[*said, END][len(output) - 1]]] = 2.0
            return row

    task = Task([*HEAD, 1], (), frozenset([END]), 9, source=[1])
    store = ToyStore(4)
    store.caches = [Hesitating() for _ in store.caches]
    with pool_of(store, 1, 2).session("a") as session:
        got, cost = drive(ssbd(task, EXACT, beam=2), session)
    assert list(got.tokens[1:]) == said
    # Two tokens tell them apart twice, and one is followed from then on.
    assert cost.evaluated == 1 + 2 * 2 + len(said) - 1
