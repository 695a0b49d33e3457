"""The contract of decoding, held by llama.cpp and the base model."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import llama_cpp
import numpy as np
import pytest

from connectors.gguf.file import read_gguf
from connectors.models.heads import output_rows
from operators.decoding.acceptance import BiasedAcceptance
from operators.decoding.drive import drive
from operators.decoding.forward import Forward, Logits, Task
from operators.decoding.greedy import retranslate
from operators.decoding.session import PrefixSession
from operators.decoding.ssbd import ssbd
from operators.errors import InputError
from operators.models.llama import ContextSettings, LlamaContext
from operators.models.llama_model import LlamaModel
from operators.models.pool import SessionPool
from operators.prompts.prompt import Prompt
from operators.prompts.template import few_shot_prompt, find_examples
from operators.research.heads import StateSolver
from tests.near_ties import NOISE, agree, gap_where_they_part


@contextmanager
def opened(model: LlamaModel, *, batch: int = 512, sequences: int = 3) -> Iterator[LlamaContext]:
    context = LlamaContext(model, ContextSettings(cells=2048, sequences=sequences, batch=batch, threads=2))
    yield context
    context.close()


@pytest.fixture(scope="module")
def prompt(model: LlamaModel) -> Prompt:
    return few_shot_prompt(model, find_examples("English", "German"))


def rows(model: LlamaModel, tokens: list[int], count: int, batch: int) -> Logits:
    with opened(model, batch=batch) as context:
        return context.evaluate(1, tokens, 0, count).copy()


def test_a_long_request_is_split_without_changing_the_answer(model: LlamaModel) -> None:
    tokens = model.begin + model.tokenize("The city council voted on Tuesday to repair the old bridge. " * 4)
    assert agree(rows(model, tokens, 20, 16), rows(model, tokens, 20, 512))


def test_the_answer_ends_at_any_token_with_a_line_break(model: LlamaModel, prompt: Prompt) -> None:
    breaks = [token for token in range(3000) if b"\n" in model.piece(token)]
    assert len(breaks) > 20
    assert all(token in prompt.stop for token in breaks)


def test_without_bias_ssbd_differs_from_retranslation_at_near_ties_only(
    model: LlamaModel, prompt: Prompt
) -> None:
    source = prompt.build(
        prompt.source("The meeting starts at nine o'clock tomorrow morning."), is_final=True
    )
    with opened(model) as context:
        pool = SessionPool(context, prompt.head, 2)
        with pool.session("rt") as session:
            want, _ = drive(retranslate(Task(source, (), prompt.stop, 40)), session)
        for draft in [want.tokens, want.tokens[:3], (*want.tokens[:4], *want.tokens[5:])]:
            with pool.session("ssbd") as session:
                task = Task(source, draft, prompt.stop, 40)
                got, _ = drive(ssbd(task, BiasedAcceptance(0.0)), session)
            with pool.session("gap") as session:
                assert gap_where_they_part(session, source, want.tokens, got.tokens) < NOISE


def test_a_session_from_the_shared_head_answers_as_one_built_from_scratch(
    model: LlamaModel, prompt: Prompt
) -> None:
    tokens = [*prompt.build(prompt.source("Good morning"), is_final=True)]
    with opened(model) as context:
        with SessionPool(context, prompt.head, 1).session("a") as session:
            shared = session.forward(Forward(tokens, len(tokens) - 1)).copy()
            assert session.reused == len(prompt.head)
        context.cut_sequence(2, 0)
        scratch = PrefixSession(_Second(context)).forward(Forward(tokens, len(tokens) - 1))
        assert agree(shared, scratch)


class _Second:
    """Sequence 2 of a context as a `KvCache`."""

    def __init__(self, context: LlamaContext) -> None:
        self._context = context

    def cut(self, length: int) -> int:
        self._context.cut_sequence(2, length)
        return length

    def evaluate(self, tokens: Sequence[int], start: int, rows: int) -> Logits:
        return self._context.evaluate(2, tokens, start, rows)


def test_the_state_solved_from_logits_is_the_one_that_llama_cpp_tells(model: LlamaModel) -> None:
    ids = np.linspace(0, model.vocabulary_size - 1, 2048).astype(np.int32)
    solver = StateSolver(ids, output_rows(read_gguf(model.path), model.path, ids))
    tokens = model.begin + model.tokenize("The city council voted on Tuesday to repair the old bridge.")
    with opened(model) as context:
        solved = solver.states(solver.seen(context.evaluate(1, tokens, 0, len(tokens))))
        context.cut_sequence(1, 0)
        llama_cpp.llama_set_embeddings(context._context, True)
        context.evaluate(1, tokens, 0, len(tokens))
        told = np.ctypeslib.as_array(
            llama_cpp.llama_get_embeddings(context._context), shape=(len(tokens), solved.shape[1])
        )
        apart = np.linalg.norm(solved - told, axis=1) / np.linalg.norm(told, axis=1)
    # Logits are computed from a state whose numbers were rounded to eight bits. Others are apart by 0.4.
    assert apart.max() < 0.25


def test_a_file_that_llama_cpp_cannot_read_is_named(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(64))
    with pytest.raises(InputError, match=r"broken\.gguf"):
        LlamaModel(broken)
