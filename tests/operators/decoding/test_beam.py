"""A beam search finds what a search without a cache finds, alone or in passes shared with others."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.decoding.acceptance import EXACT, UtilityAcceptance
from operators.decoding.adjustment import adjusted
from operators.decoding.drive import Cost, DecodeRequest, drive
from operators.decoding.forward import DecodingResult, Logits, Method, Task
from operators.decoding.ssbd import retranslate, ssbd
from operators.model_errors import ErrorKind
from operators.models.pool import SessionPool
from operators.serving.scheduler import Scheduler
from tests.toy import END, ScriptedCache, ToyCache, ToyStore, prompts, row_of, run, toy_task

HEAD = [1, 2]
drafts = st.lists(st.integers(1, 6), max_size=8)
widths = st.integers(2, 4)


def make_task(prompt: list[int], draft: Sequence[int] = (), limit: int = 12) -> Task:
    return toy_task([*HEAD, *prompt], draft, limit)._replace(source=prompt)


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


def pool_of(caches: Sequence[ToyCache], sessions: int, width: int) -> SessionPool:
    store = ToyStore(0)
    store.caches = list(caches)
    return SessionPool(store, HEAD, sessions, beams=width)


def beamed(
    method: Method, width: int, row: Callable[[Sequence[int]], Logits] | None = None
) -> tuple[DecodingResult, Cost]:
    """Drives a method in the session of a pool of its own, whose model is the toy or answers by ``row``."""
    caches = [ScriptedCache(row) if row else ToyCache() for _ in range(2 + width)]
    with pool_of(caches, 1, width).session("a") as session:
        return drive(method, session)


@given(prompts, drafts, st.integers(1, 14), widths)
def test_what_follows_the_accepted_draft_is_the_result_of_the_search(
    prompt: list[int], draft: list[int], limit: int, width: int
) -> None:
    task = make_task(prompt, draft, limit)
    greedy, _ = run(ssbd(task, UtilityAcceptance(0.6)))
    got, _ = beamed(ssbd(task, UtilityAcceptance(0.6), beam=width), width)
    if got.cut is ErrorKind.REPETITION or greedy.cut is ErrorKind.REPETITION:
        return
    kept = list(got.tokens[: got.accepted])
    assert got.accepted == greedy.accepted
    if got.accepted < limit and len(greedy.tokens) > got.accepted:
        found = searched(task, kept, width)
        assert list(got.tokens) == (list(greedy.tokens) if found is None else [*kept, *found])


@given(prompts, st.integers(2, 14))
def test_a_session_that_holds_one_continuation_decodes_greedily(prompt: list[int], limit: int) -> None:
    task = make_task(prompt, limit=limit)
    assert run(ssbd(task, EXACT, beam=3))[0].tokens == run(retranslate(task))[0].tokens


def served(scheduler: Scheduler, asked: list[tuple[str, Task, bool]], width: int) -> list[Sequence[int]]:
    """What a scheduler makes of tasks, each with its key and whether it is final, that wait together."""
    jobs = [
        scheduler.add(DecodeRequest(key, ssbd(task, EXACT, beam=width), is_final=is_final))
        for key, task, is_final in asked
    ]
    while not all(job.has_ended for job in jobs):
        scheduler.step()
    return [job.result[0].tokens for job in jobs]


turns = st.lists(st.lists(st.tuples(prompts, drafts), min_size=1, max_size=3), min_size=1, max_size=3)


@given(turns, widths)
def test_tasks_that_share_passes_get_what_each_gets_alone(
    turns: list[list[tuple[list[int], list[int]]]], width: int
) -> None:
    caches = [ToyCache() for _ in range(4 + 3 * width)]
    scheduler = Scheduler(pool_of(caches, 3, width), fill=64)
    for turn in turns:
        tasks = [make_task(*asked) for asked in turn]
        got = served(scheduler, [(key, task, True) for key, task in zip("abc", tasks, strict=False)], width)
        assert got == [beamed(ssbd(task, EXACT, beam=width), width)[0].tokens for task in tasks]


@given(st.lists(st.tuples(prompts, st.booleans()), min_size=3, max_size=3), widths)
def test_where_many_wait_only_finals_are_searched(given: list[tuple[list[int], bool]], width: int) -> None:
    caches = [ToyCache() for _ in range(4 + 3 * width)]
    asked = [(f"{number}", make_task(prompt), is_final) for number, (prompt, is_final) in enumerate(given)]
    assert served(Scheduler(pool_of(caches, 3, width), fill=64), asked, width) == [
        beamed(ssbd(task, EXACT, beam=width if is_final else 1), width)[0].tokens
        for _, task, is_final in asked
    ]


@given(prompts, drafts)
def test_a_rule_that_changes_the_model_holds_in_every_hypothesis(prompt: list[int], draft: list[int]) -> None:
    task = make_task(prompt, draft)

    def forbid(row: Logits, output: tuple[int, ...]) -> None:
        row[3] = -np.inf
        if output and output[-1] == 4:
            row[5] = -np.inf

    got, _ = beamed(adjusted(ssbd(task, EXACT, beam=3), task, forbid), 3)
    assert 3 not in got.tokens
    assert (4, 5) not in set(zip(got.tokens, got.tokens[1:], strict=False))


def test_the_next_update_finds_the_chosen_continuation_in_the_cache() -> None:
    task = make_task([3, 5, 1])
    with pool_of([ToyCache() for _ in range(5)], 1, 3).session("a") as session:
        said, _ = drive(ssbd(task, EXACT, beam=3), session)
        assert len(said.tokens) > 3
        again = task._replace(draft=said.tokens, committed=len(said.tokens))
        _, cost = drive(ssbd(again, EXACT), session)
    assert cost.reused >= len(task.prompt) + 2


@given(st.integers(12, 32), st.booleans())
def test_a_search_says_a_long_phrase_again_only_after_a_speaker(length: int, repeats_himself: bool) -> None:
    phrase, way_out = list(range(1, length + 1)), length + 1

    def begins_again_rather_than_end(prefix: Sequence[int]) -> Logits:
        said = list(prefix[len(task.prompt) :])
        if said[-1:] == [way_out]:
            return row_of(length + 2, {END: 2.0})
        place = len(said) % length
        return row_of(length + 2, {phrase[place]: 2.0} | ({way_out: 1.9} if place == 0 else {}))

    source = phrase * 2 if repeats_himself else phrase
    task = make_task([1], limit=3 * length)._replace(source=source)
    got, _ = beamed(ssbd(task, EXACT, beam=2), 2, begins_again_rather_than_end)
    assert list(got.tokens) == [*source, way_out]


SPELLED = [b"", b" It was bad", b".", b",", b" it was bad", b" good", b"", b""]


@pytest.mark.parametrize("committed", [0, 2])
def test_a_draft_that_the_model_would_say_again_gives_way(committed: int) -> None:
    """The draft says it with a full stop, where the model, now that it has heard more, has a comma."""

    def insists(prefix: Sequence[int]) -> Logits:
        """Says what is bad with a small letter, behind a draft that says it with a capital too."""
        follows = {5: 3, 3: 4, 4: 2, 1: 3, 2: 4 if 1 in prefix[len(task.prompt) :] else END}
        return row_of(len(SPELLED), {follows.get(prefix[-1], 5): 2.0})

    task = make_task([6], [5, 2, 1], 9)._replace(committed=committed, kept=committed)
    task = task._replace(piece=SPELLED.__getitem__)
    got, _ = beamed(ssbd(task, UtilityAcceptance(20.0), beam=2), 2, insists)
    assert got.tokens == (5, 3, 4, 2)
    assert (got.drafted, got.accepted, got.doubted) == (3, 1, None)
    # A speaker who says it again has it said again.
    twice = ssbd(task._replace(source=[6, 6]), UtilityAcceptance(20.0), beam=2)
    assert beamed(twice, 2, insists)[0].tokens[:5] == (5, 2, 1, 3, 4)
