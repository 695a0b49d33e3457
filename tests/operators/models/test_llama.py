"""The contract of decoding, held by llama.cpp and the base model."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import llama_cpp
import numpy as np
import pytest

from connectors.models.heads import output_layer
from operators.decoding.acceptance import BiasedAcceptance
from operators.decoding.drive import drive
from operators.decoding.forward import Task
from operators.decoding.ssbd import retranslate, ssbd
from operators.errors import InputError
from operators.models.context import ContextSettings
from operators.models.kv import Part
from operators.models.llama import LlamaContext
from operators.models.llama_model import LlamaModel
from operators.models.pool import SessionPool
from operators.prompts.prompt import Prompt
from operators.prompts.template import few_shot_prompt, find_examples
from operators.research.heads import StateSolver
from tests.near_ties import NOISE, agree, gap_where_they_part


@contextmanager
def opened(model: LlamaModel, *, batch: int = 512) -> Iterator[LlamaContext]:
    settings = ContextSettings(cells=2048, sequences=4, batch=batch, threads=2)
    with closing(LlamaContext(model, settings)) as context:
        yield context


@pytest.fixture(scope="module")
def prompt(model: LlamaModel) -> Prompt:
    return few_shot_prompt(model, find_examples("English", "German"))


def test_a_long_request_is_split_without_changing_the_answer(model: LlamaModel) -> None:
    tokens = model.begin + model.tokenize("The city council voted on Tuesday to repair the old bridge. " * 4)
    with opened(model, batch=16) as small, opened(model) as large:
        assert agree(small.evaluate(1, tokens, 0, 20), large.evaluate(1, tokens, 0, 20))


def test_the_answer_ends_at_any_token_with_a_line_break(model: LlamaModel, prompt: Prompt) -> None:
    breaks = [token for token in range(3000) if b"\n" in model.piece(token)]
    assert len(breaks) > 20
    assert all(token in prompt.stop for token in breaks)


def test_without_bias_ssbd_differs_from_retranslation_at_near_ties_only(
    model: LlamaModel, prompt: Prompt
) -> None:
    said = prompt.source("The meeting starts at nine o'clock tomorrow morning.")
    source = prompt.build(said, is_final=True)
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


def test_the_state_solved_from_logits_is_the_one_that_llama_cpp_tells(model: LlamaModel) -> None:
    ids = np.linspace(0, model.vocabulary_size - 1, 2048).astype(np.int32)
    solver = StateSolver(output_layer(model.path).rows(ids))
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


def test_each_part_of_a_pass_gets_the_rows_of_its_own_tokens(model: LlamaModel) -> None:
    texts = "The city council voted", "It will rain in the north tomorrow", "Good morning, everybody"
    asked = [
        (number, [*model.begin, *model.tokenize(text)], 1 + 2 * number) for number, text in enumerate(texts)
    ]
    with opened(model) as context:
        alone = [context.evaluate(number, tokens, 0, rows).copy() for number, tokens, rows in asked]
        for number in range(3):
            context.cut_sequence(number, 0)
        together = context.evaluate_parts(
            [Part((number,), tokens, 0, rows) for number, tokens, rows in asked]
        )
        assert [len(rows) for rows in together] == [1, 3, 5]
        assert all(agree(one, other) for one, other in zip(together, alone, strict=True))
