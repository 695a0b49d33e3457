"""The models that proposal heads are trained for, and the answers that heads learn from."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from tqdm import tqdm

from connectors.machine.resources import usable_cores
from connectors.models.heads import OutputLayer, output_layer
from flows.model.jobs import HeadsJob
from operators.decoding.blockwise import decode
from operators.decoding.drafts import FirstOf
from operators.decoding.drive import drive
from operators.decoding.forward import Task
from operators.errors import InputError
from operators.languages import Direction
from operators.model_errors import ModelError
from operators.models.context import ContextSettings
from operators.models.kv import SequenceStore
from operators.models.llama import LlamaContext
from operators.models.llama_model import LlamaModel
from operators.models.pool import SessionPool
from operators.prompts.prompt import Prompt
from operators.prompts.select import select_prompt
from operators.research.heads import EQUATIONS, Matrix, StateSolver
from operators.research.many_answers import Answer, given_answer, many_answers
from operators.seq2seq.firefox import FirefoxModel
from operators.seq2seq.prompt import pair_prompt
from operators.seq2seq.store import PairStore

#: Number of answers that are generated at a time.
AT_A_TIME = 16


class Asked(NamedTuple):
    task: Task
    #: The translation in the pair.
    translation: str


class Answering(Protocol):
    """A loaded model."""

    path: Path
    layer: OutputLayer
    prompt: Prompt
    #: Tokens that are never output, and have no logits.
    unsaid: Sequence[int]

    def sequences(self, tasks: Sequence[Task], count: int) -> AbstractContextManager[SequenceStore]:
        """A store for ``count`` sequences, each long enough for any of the tasks with its answer."""
        ...


class Llama:
    unsaid: Sequence[int] = ()

    def __init__(self, path: Path, model: LlamaModel, job: HeadsJob) -> None:
        self.path, self._model = path, model
        self.layer = output_layer(path)
        self.prompt = select_prompt(model, "auto", job.source, job.target)

    @contextmanager
    def sequences(self, tasks: Sequence[Task], count: int) -> Iterator[SequenceStore]:
        head = len(self.prompt.head)
        longest = max(len(task.prompt) + task.limit for task in tasks) - head
        settings = ContextSettings(
            cells=-(-(head + count * longest) // 256) * 256, sequences=count, threads=usable_cores()
        )
        with closing(LlamaContext(self._model, settings)) as context:
            yield context


class Firefox:
    unsaid: Sequence[int] = (1,)

    def __init__(self, path: Path, direction: Direction) -> None:
        self.path = path
        self.layer = output_layer(path)
        self.model = FirefoxModel(path, usable_cores())
        self.prompt: Prompt = pair_prompt(self.model, direction)

    @contextmanager
    def sequences(self, tasks: Sequence[Task], count: int) -> Iterator[SequenceStore]:  # noqa: ARG002
        yield PairStore(self.model, count)

    def read(self, prompt: Sequence[int]) -> Matrix:
        """The encoder's states of the source in a prompt, (source tokens, width)."""
        return self.model.read([token for token in prompt if token != self.model.start]).states


def own_answers(model: Answering, tasks: Sequence[Task], beam: int = 1) -> list[Answer]:
    """The model's own answers ("distilled data"): greedy ones, or those of a beam search."""
    if beam > 1:
        return known_answers(model, tasks, _searched(model, tasks, beam))
    found: dict[int, Answer] = {}
    with _of(model, tasks, AT_A_TIME + 1) as store, tqdm(total=len(tasks), unit=" answers") as bar:
        for number, answer in many_answers(store, model.prompt.head, tasks, _solver(model), AT_A_TIME):
            found[number] = answer
            bar.update()
    return [found[number] for number in range(len(tasks))]


def known_answers(model: Answering, tasks: Sequence[Task], answers: Sequence[Sequence[int]]) -> list[Answer]:
    """Given answers, such as human translations ("original data"), with the model's states at them."""
    solver = _solver(model)
    end = next(token for token in range(model.layer.vocabulary) if token in model.prompt.stop)
    with _of(model, tasks, 2) as store:
        return [
            given_answer(store, model.prompt.head, task, [*answer[: task.limit - 1], end], solver)
            for task, answer in zip(tasks, tqdm(answers, unit=" answers"), strict=True)
        ]


def _searched(model: Answering, tasks: Sequence[Task], beam: int) -> list[tuple[int, ...]]:
    with _of(model, tasks, beam + 2) as store:
        pool, found = SessionPool(store, model.prompt.head, 1, beams=beam), []
        for task in tqdm(tasks, unit=" answers"):
            with pool.session("") as session:
                found.append(drive(decode(task, FirstOf(), beam=beam), session)[0].tokens)
    return found


@contextmanager
def _of(model: Answering, tasks: Sequence[Task], count: int) -> Iterator[SequenceStore]:
    try:
        with model.sequences(tasks, count) as store:
            yield store
    except ModelError as error:
        raise InputError(f"{model.path}: the model cannot be used, {error}; choose another") from None


def _solver(model: Answering) -> StateSolver:
    # Any tokens will do, but the first ones are only control tokens and bytes; some have no logits.
    size = model.layer.vocabulary
    return StateSolver(model.layer.rows(np.linspace(2, size - 1, min(EQUATIONS, size - 2)).astype(np.int32)))
