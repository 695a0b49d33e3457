"""A run of ``surtitle model distill``: replaces the translations of text pairs by the model's own."""

import hashlib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from random import Random

import msgspec
import torch
from tqdm import tqdm

from connectors.corpora import read_texts, write_texts
from connectors.files.contents import sha256_of
from connectors.files.distinct import check_distinct
from connectors.gguf.file import read_gguf
from connectors.models.resolve import resolve_model
from connectors.scoring import Journal
from flows.model.in_torch import ends, torch_model
from flows.model.jobs import DistillJob
from operators.errors import InputError, UsageError, printable
from operators.languages import Direction
from operators.models.llama_model import LlamaModel
from operators.prompts.select import select_prompt
from operators.training.generate import Fate, Translated, Translator

#: Version of the method; increased when the same pairs would give other results.
_RECIPE = 1


class Batch(msgspec.Struct, frozen=True):
    """Finished pairs, by their index among all sampled pairs."""

    #: The run's fingerprint.
    run: str
    done: dict[int, Translated]


def run(job: DistillJob) -> None:
    """Translate, and write the pairs; raises `InputError`, `UsageError` and `OutputError`."""
    path = resolve_model(job.model, Direction.of(job.source, job.target))
    check_distinct([("--output", job.output), ("its state", job.state)], [path, *job.pairs])
    sources = _sources(job)
    mine = _fingerprint(job, path)
    with Journal(job.state, Batch, elsewhere="name another file with --output") as journal:
        if any(batch.run != mine for batch in journal.results):
            raise UsageError(
                f"{job.state} belongs to a run with another model, other data or settings; "
                "use the same ones, remove it, or name another file with --output"
            )
        done = {place: said for batch in journal.results for place, said in batch.done.items()}
        _translate(job, path, sources, done, journal, mine)
        pairs = [(text, done[place].text) for place, text in enumerate(sources) if done[place].text]
        if not pairs:
            raise InputError(f"none of the model's {len(sources)} answers can be used; choose another model")
        write_texts(job.output, pairs)
        journal.remove()
    print(f"{printable(str(job.output))}: {len(pairs)} pairs{_left_out(done.values())}")


def _sources(job: DistillJob) -> list[str]:
    texts = [" ".join(source.split()) for path in job.pairs for source, _ in read_texts(path)]
    if job.limit is not None and job.limit < len(texts):
        texts = Random(job.seed).sample(texts, job.limit)
    return texts


def _fingerprint(job: DistillJob, model: Path) -> str:
    settings = [_RECIPE, job.source, job.target, job.limit, job.seed]
    sums = [sha256_of(path) for path in (model, *job.pairs)]
    return hashlib.sha256(msgspec.json.encode([settings, sums])).hexdigest()[:12]


def _translate(
    job: DistillJob,
    path: Path,
    sources: list[str],
    done: dict[int, Translated],
    journal: Journal[Batch],
    mine: str,
) -> None:
    """Translate the pairs that are not in ``done``, and add them to it."""
    left = [place for place in range(len(sources)) if place not in done]
    if not left:
        return
    model = LlamaModel(path)
    prompt = select_prompt(model, "auto", job.source, job.target)
    weights = torch_model(read_gguf(path)).to("cuda" if torch.cuda.is_available() else "cpu")
    translator = Translator(weights, prompt, ends(prompt, model.vocabulary_size))
    with tqdm(total=len(sources), initial=len(done), unit=" pairs") as bar:
        for places, said in translator.translate([sources[place] for place in left], job.batch, job.seed):
            made = {left[place]: one for place, one in zip(places, said, strict=True)}
            journal.append(Batch(mine, made))
            done |= made
            bar.update(len(made))
    model.close()


def _left_out(done: Iterable[Translated]) -> str:
    counts: Counter[Fate] = Counter(one.fate for one in done if one.fate is not Fate.USED)
    return "".join(f", {counts[fate]} left out that {fate.value}" for fate in Fate if counts[fate])
