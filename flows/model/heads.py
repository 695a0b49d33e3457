"""A run of ``surtitle model heads``: trains heads on pairs of texts, and measures their block sizes."""

from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from itertools import chain, islice
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tqdm import tqdm

from connectors.machine.resources import usable_cores
from connectors.models.gguf import encode, read_gguf, write_gguf
from connectors.models.heads import heads_file, output_rows
from connectors.models.resolve import resolve_model
from connectors.pairs import read_pairs
from flows.model.jobs import HeadsJob
from operators.decoding.conditioning import Conditioning
from operators.decoding.forward import Task, output_limit
from operators.errors import InputError
from operators.languages import Direction, language
from operators.model_errors import ModelError
from operators.models.llama import ContextSettings, LlamaContext
from operators.models.llama_model import LlamaModel
from operators.prompts.prompt import Prompt
from operators.prompts.select import select_prompt
from operators.research.heads import EQUATIONS, StateSolver, mean_block
from operators.research.many_answers import Answer, many_answers
from operators.training.examples import Pair, example
from operators.training.heads import HeadsFit, fast_type, places

#: Number of answers that are generated at a time.
_AT_A_TIME = 16
#: Number of held-out prompts whose answers the heads are measured on, and one in so many pairs is held out.
_MEASURED, _HELD_OUT = 40, 20
#: Number of tokens that heads can propose, and of translations whose tokens are among them.
_TOKENS, _REFERENCES = 8192, 20_000


def run(job: HeadsJob) -> None:
    """Train heads, write and measure them; raises `InputError`, `UsageError` and `OutputError`."""
    path = resolve_model(job.model, Direction.of(job.source, job.target))
    job.check(path)
    pairs = [pair for file in job.pairs for pair in read_pairs(file)]
    learned = [pair for number, pair in enumerate(pairs) if number % _HELD_OUT]
    held = pairs[::_HELD_OUT]
    if not learned:
        raise InputError(f"{job.pairs[0]}: the only pair is held out and none is left to train on; give more")
    with closing(LlamaModel(path)) as model:
        prompt = select_prompt(model, "auto", job.source, job.target)
        tasks = _tasks(learned, prompt, job, job.prompts) + _tasks(held, prompt, job, _MEASURED)
        answers = _answers(model, path, prompt, tasks)
        shown, measured_on = answers[: job.prompts], answers[job.prompts :]
        tokens = _choice(shown, pairs, prompt, model.vocabulary_size)
        fit, points = _fit(path, shown, measured_on, tokens, job)
        about = {
            "general.name": encode(f"proposal heads for {path.stem}"),
            "surtitle.heads.model": encode(path.name),
        }
        write_gguf(job.output, *heads_file(fit.heads(), tokens, read_gguf(path), about))
    known, said = set(tokens.tolist()), [token for one in measured_on for token in one.tokens]
    record = job.record(path, "torch", "llama-cpp-python") | {
        "tokens": sum(len(one.tokens) for one in shown),
        # Share of the held-out answers' tokens that the heads can predict.
        "covered": round(sum(token in known for token in said) / len(said), 4),
        "points": points,
    }
    job.write_record(record)
    for heads, block in enumerate(points[-1]["blocks"], start=1):
        print(f"{heads} heads: {block:.2f} tokens a pass")
    print(job.written)


def _tasks(pairs: Sequence[Pair], prompt: Prompt, job: HeadsJob, count: int) -> list[Task]:
    """Prompts for whole and unfinished speech, as in normal use."""
    conditioning = Conditioning(close=not prompt.knows_unfinished)
    rng, joint, tasks = Random(job.seed), language(job.target).joint, []
    for _ in range(count):
        one = example(rng.choice(pairs), rng, prefixes=job.prefixes, joint=joint)
        source = prompt.source(conditioning.prepare(one.source, is_final=one.is_final))
        tasks.append(
            Task(prompt.build(source, is_final=one.is_final), (), prompt.stop, output_limit(len(source)))
        )
    return tasks


def _answers(model: LlamaModel, path: Path, prompt: Prompt, tasks: Sequence[Task]) -> list[Answer]:
    found: dict[int, Answer] = {}
    solver = _solver(path, model.vocabulary_size)
    bar = tqdm(total=len(tasks), unit=" answers", desc="translating")
    try:
        with closing(LlamaContext(model, _context(prompt, tasks))) as context, bar:
            for number, answer in many_answers(context, prompt.head, tasks, solver, _AT_A_TIME):
                found[number] = answer
                bar.update()
    except ModelError as error:
        raise InputError(f"{path}: the model cannot be used, {error}; choose another") from None
    return [found[number] for number in range(len(tasks))]


def _solver(path: Path, size: int) -> StateSolver:
    # Any tokens will do, but the first ones are only control tokens and bytes.
    ids = np.linspace(0, size - 1, min(EQUATIONS, size)).astype(np.int32)
    return StateSolver(ids, output_rows(read_gguf(path), path, ids))


def _context(prompt: Prompt, tasks: Sequence[Task]) -> ContextSettings:
    longest = max(len(task.prompt) + task.limit for task in tasks) - len(prompt.head)
    return ContextSettings(
        cells=-(-(len(prompt.head) + _AT_A_TIME * longest) // 256) * 256,
        sequences=_AT_A_TIME + 1,
        threads=usable_cores(),
    )


def _choice(answers: Sequence[Answer], pairs: Sequence[Pair], prompt: Prompt, size: int) -> NDArray[np.int32]:
    """The tokens that heads can predict: those of answers, then of references, then the first ids."""
    said = Counter(chain.from_iterable(one.tokens for one in answers))
    references = Counter(
        token
        for _, target in pairs[:_REFERENCES]
        for token in prompt.vocabulary.tokenize(prompt.lead + target)
    )
    ordered = (token for counts in (said, references) for token, _ in counts.most_common())
    chosen = dict.fromkeys(chain(ordered, range(size)))
    return np.fromiter(islice(chosen, _TOKENS), np.int32)


def _fit(
    path: Path, learned: Sequence[Answer], held: Sequence[Answer], tokens: NDArray[np.int32], job: HeadsJob
) -> tuple[HeadsFit, list[dict[str, Any]]]:
    """The heads, and after each epoch the loss and the tokens per pass with one head, two …"""
    rows = torch.from_numpy(output_rows(read_gguf(path), path, tokens))
    ids = tokens.tolist()
    seen = places([one.states for one in learned], [one.tokens for one in learned], ids, job.heads)
    fit = HeadsFit(seen, rows, hidden=rows.shape[1], epochs=job.epochs, seed=job.seed, dtype=fast_type())
    points = []
    with tqdm(total=fit.steps, unit=" steps", desc="learning") as bar:
        for _ in range(job.epochs):
            losses = []
            for loss in fit.epoch():
                losses.append(loss)
                bar.update()
                bar.set_postfix(loss=f"{loss:.3f}")
            blocks = _blocks(fit, held, ids, job.heads)
            points.append({"loss": round(sum(losses) / len(losses), 4), "blocks": blocks})
    return fit, points


def _blocks(fit: HeadsFit, held: Sequence[Answer], ids: Sequence[int], heads: int) -> list[float]:
    proposed = [
        [[ids[number] for number in place] for place in fit.proposed(torch.from_numpy(one.states))]
        for one in held
    ]
    answers = [one.tokens for one in held]
    return [round(mean_block(answers, proposed, count), 3) for count in range(1, heads + 1)]
