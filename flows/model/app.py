"""The commands of ``surtitle model``."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from connectors.files.output import check_place, make_folder
from flows.running.loading import loading
from operators.errors import UsageError, printable
from operators.extras import needs_extra

Pairs = Annotated[
    list[Path],
    typer.Option(
        help="Sentence pairs: a source, a tab and its translation in each line (.gz too). May be repeated."
    ),
]
Model = Annotated[str, typer.Argument(help="The model: a GGUF file, 'captions' or 'base'.")]
Output = Annotated[Path, typer.Option("-o", "--output", help="File to write (.gguf).")]
Source = Annotated[str, typer.Option("--from", help="Language of the speech.")]
Target = Annotated[str, typer.Option("--to", help="Language of the captions.")]
Prefixes = Annotated[float, typer.Option(min=0, max=1, help="Share of examples that are unfinished speech.")]
Seed = Annotated[int, typer.Option(help="Random seed.")]

model_app = typer.Typer(help="Train models for unfinished speech, or proposal heads; convert weights.")


@model_app.command()
def train(
    model: Model,
    pairs: Pairs,
    output: Output,
    target: Target,
    source: Source = "English",
    prefixes: Prefixes = 0.5,
    seed: Seed = 1,
    epochs: Annotated[int, typer.Option(min=1, help="Number of times to learn each pair.")] = 1,
    rank: Annotated[int, typer.Option(min=1, max=256, help="Rank of the adapter.")] = 32,
    rate: Annotated[float, typer.Option(min=1e-7, max=1e-1, help="Highest learning rate.")] = 1e-4,
    batch: Annotated[int, typer.Option(min=1, max=4096, help="Examples per step.")] = 8,
) -> None:
    """Train a model to translate unfinished speech (prefix training with LoRA).

    A record (.json: data, settings, losses) is written next to the adapter. An interrupted run resumes when
    it is started again. A GPU is used if PyTorch has one.
    """
    with loading(), needs_extra("train", "training"):
        from flows.model.jobs import TrainingJob
        from flows.model.train import run

    run(
        TrainingJob(
            model=model, pairs=pairs, output=output, source=source, target=target, prefixes=prefixes,
            seed=seed, epochs=epochs, rank=rank, rate=rate, batch=batch,
        )
    )  # fmt: skip


@model_app.command()
def heads(
    model: Annotated[
        str, typer.Argument(help="The model: a GGUF file, a folder of Firefox's, or a name of either.")
    ],
    pairs: Pairs,
    output: Output,
    target: Target,
    source: Source = "English",
    prefixes: Prefixes = 0.5,
    seed: Seed = 1,
    heads: Annotated[int, typer.Option(min=1, max=16, help="Number of heads.")] = 4,
    prompts: Annotated[int, typer.Option(min=1, help="Number of translations to learn from.")] = 3000,
    epochs: Annotated[int, typer.Option(min=1, help="Number of times to learn each translation.")] = 8,
    data: Annotated[
        Literal["distilled", "original"],
        typer.Option(help="Learn the model's own translations, or those of the pairs."),
    ] = "distilled",
    beam: Annotated[int, typer.Option(min=1, max=16, help="Beam width for the model's translations.")] = 1,
    tune_base: Annotated[
        Path | None, typer.Option(help="Also tune a Firefox model's decoder; write the model to this folder.")
    ] = None,
) -> None:
    """Train proposal heads on a model, for the method heads (Stern et al. 2018).

    Without --tune-base, the model is not changed. A record (.json: data, settings, tokens per pass) is
    written next to the heads.
    """
    with loading(), needs_extra("train", "training"):
        from flows.model.heads import run
        from flows.model.jobs import HeadsJob

    run(
        HeadsJob(
            model=model, pairs=pairs, output=output, source=source, target=target, prefixes=prefixes,
            seed=seed, heads=heads, prompts=prompts, epochs=epochs, data=data, beam=beam,
            tune_base=tune_base,
        )
    )  # fmt: skip


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
    with loading(), needs_extra("llm", "assembling a model"):
        from connectors.files.contents import sha256_of
        from connectors.files.distinct import check_distinct
        from connectors.models.assembly import Parts, cached_path
        from connectors.models.assembly import assemble as assembled
        from connectors.models.gguf import write_gguf
        from connectors.models.resolve import resolve_model
        from flows.running.progress import ProgressLine
        from operators.prompts.template import TrainedPrompts, labels_of

    if (source is None) != (target is None):
        raise UsageError("give both --from and --to, or neither")
    prompts = None if source is None or target is None else TrainedPrompts((labels_of(source, target),))
    with ProgressLine(quiet=False, captions=False) as line:
        path = resolve_model(base, progress=line.doing)
        check_distinct([("--output", output)], [path, adapter, vocabulary])
        parts = Parts(path, adapter, vocabulary, prompts)
        made = output or cached_path(parts)
        make_folder(made.parent)
        check_place(made)
        file = assembled(parts, line.doing)
        write_gguf(made, *file, lambda part: line.doing(f"writing {made.name}", part))
    tokens = file.tensors["token_embd.weight"].shape[-1]
    size = f"{made.stat().st_size / 1e6:.0f} MB, sha256 {sha256_of(made)}"
    print(f"{printable(str(made))}: {tokens} tokens, {size}")


@model_app.command()
def convert(
    weights: Annotated[
        str, typer.Argument(help="A folder in the format of transformers, or OWNER/REPO on Hugging Face.")
    ],
    output: Output,
    quantize: Annotated[
        str | None,
        typer.Option(help="Quantisation: q4_k_m, q8_0, …", show_default="16 bits, as published"),
    ] = None,
) -> None:
    """Convert published weights to a GGUF file for --model, with llama.cpp's converter."""
    with loading(), needs_extra("llm", "converting weights"):
        from connectors.files.contents import sha256_of
        from connectors.files.distinct import check_distinct
        from flows.running.progress import ProgressLine
        from operators.models.llama_model import be_quiet
        from operators.models.quantize import MIXTURES

    if quantize is not None and quantize not in MIXTURES:
        raise UsageError(f"--quantize: there is no {quantize}; choose one of {', '.join(MIXTURES)}")
    with loading(), needs_extra("train", "converting weights"):
        from connectors.models.convert import convert as converted

    check_distinct([("--output", output)], [Path(weights)])
    check_place(output)
    be_quiet()
    with ProgressLine(quiet=False, captions=False) as line:
        revision = converted(weights, output, quantize, line.doing)
    size = f"{output.stat().st_size / 1e6:.0f} MB, sha256 {sha256_of(output)}"
    print(f"{printable(str(output))}: {quantize or '16 bits'} of {printable(revision)}, {size}")
