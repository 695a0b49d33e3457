"""Several rooms in one pass of llama.cpp, held against one room after the other."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from operators.decoding.acceptance import EXACT
from operators.decoding.decoder import Decode
from operators.decoding.drive import drive
from operators.decoding.forward import Task
from operators.decoding.session import Evaluation
from operators.decoding.ssbd import ssbd
from operators.models.llama import ContextSettings, LlamaContext
from operators.models.llama_model import LlamaModel
from operators.models.pool import OpenSessions, SessionPool
from operators.models.shared_sessions import SharedSessions
from operators.models.store import Part
from operators.prompts.prompt import Prompt
from operators.prompts.template import few_shot_prompt, find_examples
from operators.serving.scheduler import Scheduler
from tests.near_ties import NOISE, agree, gap_where_they_part

ROOMS = {
    "council": (
        "The city council voted on Tuesday",
        "The city council voted on Tuesday to repair the bridge.",
    ),
    "weather": ("It will rain", "It will rain in the north tomorrow, and be sunny in the south."),
    "talk": ("Good morning, everybody", "Good morning, everybody. We will talk about the weather."),
}


@contextmanager
def opened(model: LlamaModel, sequences: int = 4, row_step: int = 1) -> Iterator[LlamaContext]:
    settings = ContextSettings(cells=2048, sequences=sequences, threads=2, row_step=row_step)
    context = LlamaContext(model, settings)
    yield context
    context.close()


@pytest.fixture(scope="module")
def prompt(model: LlamaModel) -> Prompt:
    return few_shot_prompt(model, find_examples("English", "German"))


@pytest.mark.parametrize("row_step", [1, 4])
def test_each_part_of_a_pass_gets_the_rows_of_its_own_tokens(model: LlamaModel, row_step: int) -> None:
    texts = [final for _, final in ROOMS.values()]
    tokens = [[*model.begin, *model.tokenize(text)] for text in texts]
    wanted = [1, 5, 7]
    with opened(model, row_step=row_step) as context:
        alone = [
            context.evaluate(number, each, 0, rows).copy()
            for number, (each, rows) in enumerate(zip(tokens, wanted, strict=True))
        ]
        for number in range(3):
            context.cut_sequence(number, 0)
        parts = [
            Part(number, Evaluation(each, 0, rows))
            for number, (each, rows) in enumerate(zip(tokens, wanted, strict=True))
        ]
        together = context.evaluate_parts(parts)
        assert [len(rows) for rows in together] == wanted
        assert all(agree(one, other) for one, other in zip(together, alone, strict=True))


def test_rooms_in_one_pass_say_what_each_says_alone_but_for_near_ties(
    model: LlamaModel, prompt: Prompt
) -> None:
    with opened(model) as first, opened(model) as second:
        pool = SessionPool(first, prompt.head, 3)
        served = Scheduler(SharedSessions(second, OpenSessions(second, prompt.head, 3)), fill=64)
        drafts: dict[str, tuple[int, ...]] = dict.fromkeys(ROOMS, ())
        for update in range(2):
            tasks = {
                room: Task(
                    prompt.build(prompt.source(texts[update]), is_final=True), drafts[room], prompt.stop, 12
                )
                for room, texts in ROOMS.items()
            }
            jobs = {room: served.add(Decode(room, ssbd(task, EXACT))) for room, task in tasks.items()}
            while not served.is_idle:
                served.step()
            for room, task in tasks.items():
                with pool.session(room) as session:
                    want, _ = drive(ssbd(task, EXACT), session)
                got, cost = jobs[room].result
                with pool.session("gap") as session:
                    assert gap_where_they_part(session, task.prompt, want.tokens, got.tokens) < NOISE
                assert cost.reused >= len(prompt.head)
                drafts[room] = want.tokens
    # Not as many passes as requests, and no result without them.
    assert 0 < served.load.passes < served.load.requests
