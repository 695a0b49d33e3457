"""The commands of ``surtitle model``."""

from pathlib import Path
from typing import Annotated

import typer

from connectors.files.distinct import check_distinct
from connectors.files.output import make_folder
from flows.model.jobs import HeadsJob, TrainingJob
from flows.running.waiting import Waiting
from flows.settings.options import asks_for
from operators.errors import UsageError, printable
from operators.extras import needs_extra

model_app = typer.Typer(help="Train a captions model on prefixes, or proposal heads.")


@model_app.command()
@asks_for(TrainingJob)
def train(job: TrainingJob) -> None:
    """Train a model to translate unfinished speech (prefix training with LoRA).

    A record (.json: data, settings, losses) is written next to the adapter. An interrupted run resumes when
    it is started again. A GPU is used if PyTorch has one.
    """
    # Imported here because other commands do not need it and should start fast.
    with needs_extra("train", "training"):
        from flows.model.train import run

    run(job)


@model_app.command()
@asks_for(HeadsJob)
def heads(job: HeadsJob) -> None:
    """Train proposal heads on a model, for --method heads (Stern et al. 2018).

    They learn from the model's own translations. A record (.json) is written next to them: data, settings,
    and tokens per pass.
    """
    # Imported here because other commands do not need it and should start fast.
    with needs_extra("train", "training"):
        from flows.model.heads import run

    run(job)


@model_app.command()
def assemble(
    adapter: Annotated[
        Path, typer.Option(help="Adapter: a GGUF file of 'surtitle model train', or .safetensors of PEFT.")
    ],
    base: Annotated[
        str, typer.Option(help="The base model: a GGUF file, hub:OWNER/REPO:FILE.gguf, 'base'.")
    ] = "base",
    vocabulary: Annotated[
        Path | None, typer.Option(help="List of tokens to keep (vocabulary.gguf).", show_default="all")
    ] = None,
    source: Annotated[
        str | None, typer.Option("--from", help="Language of the speech, if the adapter does not name it.")
    ] = None,
    target: Annotated[
        str | None, typer.Option("--to", help="Language of the captions, if the adapter does not name it.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write the model here.", show_default="in the cache")
    ] = None,
) -> None:
    """Combine base weights, an adapter and a list of tokens into one model file, for --model."""
    # Imported here because other commands do not need it and should start fast.
    from connectors.models.assembly import Parts, cached_path
    from connectors.models.assembly import assemble as assembled
    from connectors.models.gguf import check_place, write_model
    from connectors.models.resolve import resolve_model
    from operators.prompts.template import TrainedPrompts, labels_of

    if (source is None) != (target is None):
        raise UsageError("give both --from and --to, or neither")
    prompts = None if source is None or target is None else TrainedPrompts((labels_of(source, target),))
    with Waiting(quiet=False, captions=False) as waiting:
        path = resolve_model(base, progress=waiting.doing)
        check_distinct([("--output", output)], [path, adapter, vocabulary])
        parts = Parts(path, adapter, vocabulary, prompts)
        made = output or cached_path(parts)
        make_folder(made.parent)
        check_place(made)
        file = assembled(parts, waiting.doing)
        sha256 = write_model(made, file, lambda part: waiting.doing(f"writing {made.name}", part))
    tokens = file.tensors["token_embd.weight"].shape[-1]
    print(f"{printable(str(made))}: {tokens} tokens, {made.stat().st_size / 1e6:.0f} MB, sha256 {sha256}")
