"""``surtitle model train``: its options."""

from pathlib import Path
from typing import Annotated

import typer

from flows.model.extra import extra_packages
from operators.errors import UsageError
from operators.models.tensor_types import USUAL, parse_types


def train(
    model: Annotated[
        str,
        typer.Argument(help="The base model, with the vocabulary that the result will have: a GGUF file."),
    ],
    pairs: Annotated[
        list[str],
        typer.Option(
            help="Pairs that 'surtitle model align' has written; FILE=SHARE says how often they are drawn. "
            "May be repeated."
        ),
    ],
    target: Annotated[str, typer.Option("--to", help="Language of the captions.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Write the adapter here (.gguf).")],
    source: Annotated[str, typer.Option("--from", help="Language of the speech.")] = "English",
    tokens: Annotated[int, typer.Option(min=1, help="Tokens to learn from.")] = 2_000_000,
    rank: Annotated[int, typer.Option(min=1, max=256, help="Rank of the adapter.")] = 32,
    rate: Annotated[float, typer.Option(min=1e-7, max=1e-1, help="Highest learning rate.")] = 4e-4,
    rows: Annotated[int, typer.Option(min=1, max=4096, help="Rows of a batch, 256 tokens each.")] = 8,
    prefixes: Annotated[
        float, typer.Option(min=0, max=1, help="Share of examples that are unfinished speech.")
    ] = 0.5,
    noise: Annotated[
        float, typer.Option(min=0, max=1, help="Share of sources with a recogniser's faults.")
    ] = 0.3,
    seed: Annotated[int, typer.Option(help="Of all that is drawn.")] = 1,
    begin: Annotated[
        Path | None, typer.Option("--begin-with", help="Go on from this adapter, on other data, say.")
    ] = None,
    kinds: Annotated[
        str | None,
        typer.Option(
            "--type",
            help="Types that the weights will be stored in, as for 'surtitle model assemble': Q4_0, or "
            "ffn=Q4_0,attention=Q8_0. It learns with the rounded weights.",
            show_default="not rounded",
        ),
    ] = None,
    judged: Annotated[
        Path | None, typer.Option("--judge-sources", help="Texts to translate now and then, one a line.")
    ] = None,
    reference: Annotated[
        Path | None, typer.Option("--judge-references", help="Their translations, line by line.")
    ] = None,
    judge_lines: Annotated[int, typer.Option(min=1, help="So many of their first lines.")] = 20,
    judge_every: Annotated[int, typer.Option(min=1, help="Tokens between two judgements.")] = 200_000,
    compiles: Annotated[
        bool, typer.Option("--compile", help="Compile the passes first, which pays on a GPU.")
    ] = False,
) -> None:
    """Teach a model to translate speech that is unfinished (LoRA). Started again, it goes on where it was.

    Beside the adapter lie its record (.json: data, settings, scores) and, until it is done, its state.
    """
    # Imported here: the other commands need none of it, and start the sooner.
    with extra_packages():
        from flows.model.training import TrainingJob, run
        from operators.training.fit import Schedule

    if (judged is None) != (reference is None):
        raise UsageError("give both --judge-sources and --judge-references, or none of them")
    run(
        TrainingJob(
            model=model,
            pairs=[share_of(text) for text in pairs],
            source=source,
            target=target,
            output=output,
            schedule=Schedule(tokens, rate),
            rank=rank,
            rows=rows,
            prefixes=prefixes,
            noise=noise,
            seed=seed,
            begin=begin,
            types=None if kinds is None else parse_types(kinds, USUAL),
            judged=None if judged is None or reference is None else (judged, reference),
            judge_lines=judge_lines,
            judge_every=judge_every,
            compiles=compiles,
        )
    )


def share_of(text: str) -> tuple[Path, float]:
    """A file of pairs and how often it is drawn from, of ``FILE`` or ``FILE=SHARE``. Raises `UsageError`."""
    name, _, share = text.rpartition("=")
    if not name:
        return Path(text), 1.0
    try:
        number = float(share)
    except ValueError:
        return Path(text), 1.0
    if not 0 < number < float("inf"):
        raise UsageError(f"--pairs {text}: the share {share} is no number above 0")
    return Path(name), number
