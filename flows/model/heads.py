"""A run of ``surtitle model heads``: trains heads on pairs of texts, and measures their block sizes."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from importlib.metadata import version
from itertools import chain, islice
from pathlib import Path
from random import Random

import numpy as np
import torch
from numpy.typing import NDArray
from tqdm import tqdm

from connectors.corpora import read_aligned
from connectors.files.contents import sha256_of
from connectors.files.distinct import check_distinct
from connectors.gguf.file import encode, read_gguf
from connectors.machine.resources import usable_cores
from connectors.models.heads import heads_file, output_rows, read_heads
from connectors.models.resolve import resolve_model
from connectors.models.writer import check_place, write_model
from flows.model.block_sizes import RULES, measured
from flows.model.in_torch import fast_dtype
from flows.model.jobs import BlockSize, HeadsJob, HeadsPoint, HeadsRecord, Used, write_record
from operators.decoding.conditioning import Conditioning
from operators.decoding.forward import Task, output_limit
from operators.errors import InputError, printable
from operators.languages import Direction, language
from operators.models.llama import ContextSettings, LlamaContext
from operators.models.llama_model import LlamaModel
from operators.prompts.prompt import Prompt
from operators.prompts.select import select_prompt
from operators.research.heads import EQUATIONS, StateSolver, mean_block
from operators.research.many_answers import Answer, many_answers
from operators.training.heads import Epochs, HeadsFit, places
from operators.training.packing import Corpus, mixture
from operators.trouble import ModelTrouble

#: Number of answers that are generated at a time.
_AT_A_TIME = 16
#: Number of token positions that the heads learn from in a step.
_BATCH = 512
#: Number of held-out prompts that are decoded with every number of heads and every rule.
_MEASURED = 40
#: One in this many pairs is held out.
_HELD_OUT = 20
#: Number of translations of each corpus whose tokens the heads can predict, besides those of the answers.
_REFERENCES = 20_000


def run(job: HeadsJob) -> None:
    """Train heads, write and measure them; raises `InputError`, `UsageError` and `OutputError`."""
    path = resolve_model(job.model, Direction.of(job.source, job.target))
    check_distinct(
        [("--output", job.output), ("its record", job.record)], [path, *(file for file, _ in job.shares)]
    )
    check_place(job.output)
    corpora = [Corpus(read_aligned(pairs, language(job.target).code), share) for pairs, share in job.shares]
    learned, held_out = _split(corpora, job)
    with closing(LlamaModel(path)) as model:
        prompt = select_prompt(model, "auto", job.source, job.target)
        tasks = [*_tasks(learned, prompt, job, job.prompts), *_tasks(held_out, prompt, job, job.held_out)]
        answers = _answers(model, path, prompt, tasks, job)
        held = answers[job.prompts :]
        said = Counter(chain.from_iterable(answer.tokens for answer in answers[: job.prompts]))
        tokens = _choice(said, corpora, prompt, model.vocabulary_size, job.tokens)
        record = _record(job, path, answers, tokens)
        fit = _fit(path, answers[: job.prompts], held, tokens, job, record)
        about = {
            "general.name": encode(f"proposal heads for {path.stem}"),
            "surtitle.heads.model": encode(path.name),
        }
        sha256 = write_model(job.output, heads_file(fit.heads(), tokens, read_gguf(path), about))
        record.blocks = _measured(model, path, prompt, tasks[job.prompts :][:_MEASURED], job)
    write_record(job.record, record)
    _print(record)
    print(f"{printable(str(job.output))}: {job.output.stat().st_size / 1e6:.1f} MB, sha256 {sha256}")


def _split(corpora: Sequence[Corpus], job: HeadsJob) -> tuple[list[Corpus], list[Corpus]]:
    learned = [
        Corpus([pair for number, pair in enumerate(one.pairs) if number % _HELD_OUT], one.share)
        for one in corpora
    ]
    held = [Corpus(one.pairs[::_HELD_OUT], one.share) for one in corpora]
    for (path, _), one in zip(job.shares, learned, strict=True):
        if not one.pairs:
            raise InputError(f"{path}: one pair is held out and none is left to train on; give more")
    return learned, held


def _tasks(corpora: Sequence[Corpus], prompt: Prompt, job: HeadsJob, count: int) -> Iterator[Task]:
    """Prompts for whole and unfinished speech, as in normal use."""
    conditioning = Conditioning(close=not prompt.knows_unfinished)
    drawn = mixture(
        corpora,
        Random(job.seed),
        prefixes=job.prefixes,
        noise=None,
        separator=language(job.target).joint,
    )
    for one in islice(drawn, count):
        source = prompt.source(conditioning.prepare(one.source, is_final=one.is_final))
        yield Task(prompt.build(source, is_final=one.is_final), (), prompt.stop, output_limit(len(source)))


def _answers(
    model: LlamaModel, path: Path, prompt: Prompt, tasks: Sequence[Task], job: HeadsJob
) -> list[Answer]:
    """The model's answers, in the order of the tasks."""
    found: dict[int, Answer] = {}
    solver = _solver(path, model.vocabulary_size)
    bar = tqdm(total=len(tasks), unit=" answers", desc="translating")
    try:
        with closing(LlamaContext(model, _context(prompt, tasks, job, _AT_A_TIME))) as context, bar:
            for number, answer in many_answers(context, prompt.head, tasks, solver, _AT_A_TIME):
                found[number] = answer
                bar.update()
    except ModelTrouble as trouble:
        raise InputError(f"{path}: the model cannot be used, {trouble}; choose another") from None
    return [found[number] for number in range(len(tasks))]


def _solver(path: Path, size: int) -> StateSolver:
    # Any tokens will do, but the first ones are only control tokens and bytes.
    ids = np.linspace(0, size - 1, min(EQUATIONS, size)).astype(np.int32)
    return StateSolver(ids, output_rows(read_gguf(path), path, ids))


def _context(prompt: Prompt, tasks: Sequence[Task], job: HeadsJob, answers: int) -> ContextSettings:
    longest = max(len(task.prompt) + task.limit for task in tasks) - len(prompt.head)
    return ContextSettings(
        cells=-(-(len(prompt.head) + answers * longest) // 256) * 256,
        sequences=answers + 1,
        threads=job.threads or usable_cores(),
    )


def _choice(
    said: Counter[int], corpora: Sequence[Corpus], prompt: Prompt, size: int, most: int
) -> NDArray[np.int32]:
    """The tokens that heads can predict: those of answers, then of references, then the first ids."""
    references = Counter(
        token
        for corpus in corpora
        for pair in corpus.pairs[:_REFERENCES]
        for token in prompt.vocabulary.tokenize(prompt.lead + "".join(pair.target))
    )
    ordered = (token for counts in (said, references) for token, _ in counts.most_common())
    chosen = dict.fromkeys(chain(ordered, range(size)))
    return np.fromiter(islice(chosen, most), np.int32)


def _fit(
    path: Path,
    learned: Sequence[Answer],
    held: Sequence[Answer],
    tokens: NDArray[np.int32],
    job: HeadsJob,
    record: HeadsRecord,
) -> HeadsFit:
    rows = torch.from_numpy(output_rows(read_gguf(path), path, tokens))
    ids = tokens.tolist()
    seen = places([one.states for one in learned], [one.tokens for one in learned], ids, job.heads)
    fit = HeadsFit(
        seen,
        rows,
        hidden=job.hidden or rows.shape[1],
        schedule=Epochs(job.epochs, _BATCH, job.rate),
        seed=job.seed,
        dtype=fast_dtype(),
    )
    with tqdm(total=fit.steps, unit=" steps", desc="learning") as bar:
        for epoch in range(1, job.epochs + 1):
            losses = []
            for loss in fit.epoch():
                losses.append(loss)
                bar.update()
                bar.set_postfix(loss=f"{loss:.3f}")
            point = HeadsPoint(epoch, round(sum(losses) / len(losses), 4), _blocks(fit, held, ids, job.heads))
            record.points.append(point)
            shown = ", ".join(f"{block:.2f}" for block in point.blocks)
            bar.write(f"round {epoch}: loss {point.loss:.3f}; tokens a pass with 1, 2, … heads: {shown}")
    return fit


def _blocks(fit: HeadsFit, held: Sequence[Answer], ids: Sequence[int], heads: int) -> list[float]:
    proposed = [
        [[ids[number] for number in place] for place in fit.proposed(torch.from_numpy(one.states))]
        for one in held
    ]
    answers = [one.tokens for one in held]
    return [round(mean_block(answers, proposed, count), 3) for count in range(1, heads + 1)]


def _measured(
    model: LlamaModel, path: Path, prompt: Prompt, tasks: Sequence[Task], job: HeadsJob
) -> list[BlockSize]:
    """Measure the heads as they are used: read from their file, on llama.cpp."""
    heads = read_heads(job.output, path)
    with closing(LlamaContext(model, _context(prompt, tasks, job, 1))) as context:
        blocks = []
        with tqdm(total=len(RULES) * job.heads, unit=" rows", desc="measuring") as bar:
            for block in measured(context, prompt.head, tasks, heads):
                blocks.append(block)
                bar.update()
        return blocks


def _record(job: HeadsJob, path: Path, answers: Sequence[Answer], tokens: NDArray[np.int32]) -> HeadsRecord:
    known = set(tokens.tolist())
    held = [token for answer in answers[job.prompts :] for token in answer.tokens]
    return HeadsRecord(
        settings=job.recorded("pairs", "output", "model"),
        model=Used(path.name, sha256_of(path)),
        data=[Used(pairs.name, sha256_of(pairs), share) for pairs, share in job.shares],
        versions={name: version(name) for name in ("torch", "llama-cpp-python")},
        prompts=job.prompts,
        tokens=sum(len(answer.tokens) for answer in answers[: job.prompts]),
        covered=round(sum(token in known for token in held) / len(held), 4),
    )


def _print(record: HeadsRecord) -> None:
    print(
        f"{record.tokens:,} tokens of {record.prompts:,} answers; "
        f"{record.covered:.1%} of the tokens of other answers are covered"
    )
    if not record.blocks:
        print("all held-out translations repeat themselves, so no blocks could be counted")
        return
    rules = list(dict.fromkeys(block.accept for block in record.blocks))
    print("tokens a pass, and the speedup where a pass over n tokens costs 1 + n/100")
    print("heads  " + "  ".join(f"{rule:>11}" for rule in rules))
    for heads in range(1, len(record.blocks) // len(rules) + 1):
        row = [one for one in record.blocks if one.heads == heads]
        print(
            f"{heads:5}  " + "  ".join(f"{one.mean_block:5.2f} {one.speedup_simulated:5.2f}" for one in row)
        )
