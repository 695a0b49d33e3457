"""``surtitle model heads``: its options."""

from pathlib import Path
from typing import Annotated

import typer

from flows.model.extra import extra_packages
from flows.model.train import share_of


def heads(
    model: Annotated[
        str, typer.Argument(help="The model that they propose for: a GGUF file, 'captions', 'base'.")
    ],
    pairs: Annotated[
        list[str],
        typer.Option(
            help="Pairs that 'surtitle model align' has written, whose sources are translated; FILE=SHARE "
            "says how often they are drawn. May be repeated."
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Write the heads here (.gguf).")],
    target: Annotated[str, typer.Option("--to", help="Language of the captions.")] = "German",
    source: Annotated[str, typer.Option("--from", help="Language of the speech.")] = "English",
    count: Annotated[int, typer.Option("--heads", min=1, max=16, help="How many heads.")] = 4,
    hidden: Annotated[
        int | None, typer.Option(min=1, max=16384, help="Hidden units.", show_default="the model's width")
    ] = None,
    prompts: Annotated[int, typer.Option(min=1, help="Prompts whose answers they learn from.")] = 3000,
    held_out: Annotated[int, typer.Option(min=1, help="Prompts more that they are measured on.")] = 100,
    prefixes: Annotated[
        float, typer.Option(min=0, max=1, help="Share of prompts that are unfinished speech.")
    ] = 0.5,
    tokens: Annotated[int, typer.Option(min=1, help="Tokens that they choose among.")] = 8192,
    epochs: Annotated[int, typer.Option(min=1, help="How often they see each answer.")] = 8,
    rate: Annotated[float, typer.Option(min=1e-7, max=1e-1, help="Highest learning rate.")] = 1e-3,
    seed: Annotated[int, typer.Option(help="Of all that is drawn.")] = 1,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads of the model.", show_default="all cores")
    ] = None,
) -> None:
    """Teach heads on a model to guess what follows its next token, for --method heads (Stern et al. 2018).

    They learn from the model's own answers. Beside them lies their record (.json): data, settings, and how
    many tokens a pass then gives.
    """
    # Imported here: the other commands need none of it, and start the sooner.
    with extra_packages():
        from flows.model.heads_training import HeadsJob, run

    corpora = [share_of(text) for text in pairs]
    run(
        HeadsJob(
            model=model,
            pairs=corpora,
            source=source,
            target=target,
            output=output,
            heads=count,
            hidden=hidden,
            prompts=prompts,
            held_out=held_out,
            prefixes=prefixes,
            tokens=tokens,
            epochs=epochs,
            rate=rate,
            seed=seed,
            threads=threads,
        )
    )
