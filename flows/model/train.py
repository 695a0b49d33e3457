"""A run of ``surtitle model train``: trains an adapter on pairs of texts and their prefixes."""

import shutil
from contextlib import closing

from connectors.models.adapter import adapter_file, read_adapter
from connectors.models.gguf import encode, read_gguf, write_gguf
from connectors.models.resolve import resolve_model
from connectors.pairs import read_pairs
from flows.model.jobs import TrainingJob
from operators.languages import Direction, language
from operators.models.llama_model import LlamaModel
from operators.prompts.template import (
    TEMPLATES_KEY,
    TrainedPrompts,
    few_shot_prompt,
    labels_of,
    spell_prompts,
    telling_unfinished,
)
from operators.training.heads import fast_type
from operators.training.lora import Examples, load, train


def run(job: TrainingJob) -> None:
    """Train, and write the adapter and its record. Raises `InputError`, `UsageError` and `OutputError`."""
    path = resolve_model(job.model, Direction.of(job.source, job.target))
    job.check(path)
    pairs = [pair for file in job.pairs for pair in read_pairs(file)]
    labels = telling_unfinished(labels_of(job.source, job.target))
    record = job.record(path, "torch", "transformers", "peft")
    state = job.state(record)
    with closing(LlamaModel(path)) as model:
        examples = Examples(
            pairs,
            few_shot_prompt(model, labels),
            prefixes=job.prefixes,
            joint=language(job.target).script.joint,
            seed=job.seed,
            epochs=job.epochs,
        )
        trained, losses = train(
            load(path, fast_type()),
            examples,
            state,
            rank=job.rank,
            rate=job.rate,
            batch=job.batch,
            seed=job.seed,
        )
    file = read_gguf(path)
    architecture = file.text("general.architecture")
    blocks = file.value(f"{architecture}.block_count")
    assert isinstance(blocks, int)
    adapter, _ = read_adapter(trained, architecture, blocks)
    entries = {
        "general.name": encode(f"{file.text('general.name')} {labels.source_language} to {labels.language}"),
        TEMPLATES_KEY: encode(spell_prompts(TrainedPrompts((labels,)))),
        "surtitle.trained.model": encode(path.name),
    }
    write_gguf(job.output, *adapter_file(adapter, architecture, entries))
    job.write_record(record | {"pairs": len(pairs), "losses": losses})
    shutil.rmtree(state)
    print(job.written)
