"""``surtitle model distill``: its options."""

from pathlib import Path
from typing import Annotated

import typer

from flows.model.extra import extra_packages


def distill(
    pairs: Annotated[
        list[Path], typer.Argument(help="Pairs: a source, a tab and its translation in each line (.gz too).")
    ],
    model: Annotated[str, typer.Option(help="The model that translates: a GGUF file, 'captions', 'base'.")],
    target: Annotated[str, typer.Option("--to", help="Language of the translations.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Write the new pairs here (.tsv, .tsv.gz).")],
    source: Annotated[str, typer.Option("--from", help="Language of the sources.")] = "English",
    limit: Annotated[
        int | None, typer.Option(min=1, help="Draw so many of the pairs.", show_default="all of them")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of what is drawn.")] = 1,
    batch: Annotated[int, typer.Option(min=1, max=4096, help="Sentences translated together.")] = 32,
) -> None:
    """Replace each translation by the model's own. Started again, it goes on where it was.

    'surtitle model align' then cuts them by what each prefix of the source supports (self-distillation). What
    did not end, or repeats itself, is left out. It computes on a GPU where PyTorch has one.
    """
    # Imported here: the other commands need none of it, and start the sooner.
    with extra_packages():
        from flows.model.distilling import Job, run

    run(Job(pairs, model, source, target, output, limit, seed, batch))
